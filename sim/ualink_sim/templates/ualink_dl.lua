-- The stream of DL flits: numbers, replays, restarts, and what payload flits carry (UALink_200 §6).

-- TL flits of a payload flit (UALink_200 §6.3.4); ``frame.part`` is the one that goes on in the next. Reports problems.
local function unpack_flits(frame, raw, done, problem)
  for segment = 1, 5 do
    local header, start, size = raw:byte(SH_OFFSET[segment] + 1), SEGMENT_START[segment], SEGMENT_SECTORS[segment]
    local at = header % 2
    local function go_on()
      local part = frame.part
      if not part then return end
      local count = math.min(16 - #part.bytes / 4, size - at)
      local sectors = {part.bytes}
      for s = start + at, start + at + count - 1 do sectors[#sectors + 1] = sector(raw, s) end
      part.bytes, at = table.concat(sectors), at + count
      if #part.bytes == 64 then
        frame.part = nil
        done(part.bytes, part.message % 2, math.floor(part.message / 2))
      end
    end
    go_on()
    for n = 0, 1 do
      if bits(string.char(header), 4 + 3 * n, 1) == 0 then at = math.max(at, 16)
      elseif frame.part or at >= size then
        problem(string.format("segment %d: TL Flit[%d] has no sector to start in", segment - 1, n))
      else
        frame.part = {bytes = "", message = bits(string.char(header), 2 + 3 * n, 2)}
        go_on()
      end
    end
  end
end

local function dl_messages(state, raw, record)
  for segment = 1, 5 do
    if raw:byte(SH_OFFSET[segment] + 1) % 2 == 0 then
      state.messages_known, state.uart = true, 0
    else
      local dword = sector(raw, SEGMENT_START[segment])
      local name = "UART payload"
      if not state.messages_known then name = "may be UART payload: the capture starts in mid-stream"
      elseif state.uart > 0 then state.uart = state.uart - 1
      else
        local code = bits(dword, 2, 7) * 4
        name = bits(dword, 0, 1) == 0 and DL_MESSAGES[code] or "undefined"
        if bits(dword, 0, 1) == 0 and code == UART_TRANSPORT then state.uart = bits(dword, 27, 5) + 1 end
      end
      record.messages[#record.messages + 1] = {bits(dword, 0, 32), name}
    end
  end
end

local function unpack_payload(state, raw, record)
  dl_messages(state, raw, record)
  if state.frame then
    unpack_flits(state.frame, raw, function(bytes, m0, m1)
      record.flits[#record.flits + 1] = {bytes = bytes, halves = decode_tl_flit(state, bytes, m0, m1, record)}
    end, function(problem) record.problems[#record.problems + 1] = problem end)
    return
  end
  state.frame = narrow(state.frames, function(frame)
    local good = true
    unpack_flits(frame, raw, function() end, function() good = false end)
    return good and (frame.part and #frame.part.bytes or 64) or nil
  end, any_carry_over)
end

local function forget(state)
  state.wire, state.accepted, state.decoded, state.waiting, state.from_start = nil, nil, nil, false, false
  state.frame, state.frames, state.tl, state.sequences = nil, {list = any_carry_over()}, nil, {list = any_owed()}
  state.messages_known, state.uart = false, 0
end

local function restart(state)
  forget(state)
  state.wire, state.accepted, state.decoded, state.from_start = RESET_SEQ, RESET_SEQ, RESET_SEQ, true
  state.frame, state.tl, state.messages_known = {}, {owed = {}}, true
end

local function ahead_of(from, seq) return steps(from, seq) > 0 and steps(from, seq) <= WINDOW end

local function find_restart(state, record)
  local first = record.op == 0 and record.payload == 1 and record.number == 1
  local fresh = record.payload == 0 and (record.op == 0 and record.number == RESET_SEQ
    or record.op > 1 and record.number == RESET_SEQ % 8 and record.ack == RESET_SEQ)
  local run = state.reset_run
  state.reset_run = fresh and run + 1 or 0
  if not state.started then
    state.started = true
    if fresh or first then restart(state)
    else record.notes[#record.notes + 1] = "the capture starts in mid-stream: the TL is not decoded until it is in step" end
    return
  elseif state.accepted == RESET_SEQ then return end
  local again
  if first then again = run >= RESTART_NOPS or state.accepted and not ahead_of(state.accepted, 1)
  else
    again = state.reset_run == RESTART_NOPS and not (state.accepted and steps(state.accepted, RESET_SEQ) <= NEAR_RESET)
  end
  if again then
    restart(state)
    record.notes[#record.notes + 1] = "the link restarted"
  end
end

-- The flit's number, and what the flit is to the receiver behind the tap.
local function place(state, record)
  local payload, explicit = record.payload == 1, record.op < 2
  if (explicit and record.number or record.ack) == 0 then
    record.problems[1] = "flit number 0 is reserved"
    return "bad_header"
  end
  local before = state.wire
  if explicit then record.seq = record.number
  elseif not before or state.bad_run >= AMBIGUOUS_AFTER then
    state.wire = nil
    return payload and "unnumbered" or "nop"
  else
    local step = (record.number - before) % 8
    record.seq = (before + (step == 0 and payload and 8 or step)) % 512
  end
  local seq = record.seq
  state.wire = seq
  if state.accepted and payload and not ahead_of(state.accepted, seq) and (record.op == 0 or state.waiting and before
    and ahead_of(state.accepted, before) and seq == next_seq(before)) then
    record.notes[#record.notes + 1] = string.format("flits %d and on were never replayed", next_seq(state.accepted))
    record.notes[#record.notes + 1] = "the TL is not decoded until it is in step again"
    forget(state)
    state.wire = seq
  end
  if not state.accepted then
    state.accepted, state.decoded = seq, seq
    return payload and "payload" or "nop"
  end
  local ahead, what = ahead_of(state.accepted, seq), payload and "duplicate" or "nop"
  if not ahead and record.op == 1 and not state.from_start then state.accepted = (seq - 2) % 511 + 1 end
  if payload and seq == next_seq(state.accepted) and (explicit or not state.waiting) then
    state.accepted, state.waiting = seq, false
    if ahead_of(state.decoded, seq) then what, state.decoded = "payload", seq end
  elseif payload and ahead then what = "gap" end
  if ahead and seq ~= state.accepted and not state.waiting then
    state.waiting = true
    record.notes[#record.notes + 1] = string.format("flits %d and on are missing", next_seq(state.accepted))
  end
  return what
end

local states, records = {}, {}
local function follow(raw, lost, state_key, authentication)
  local record = {flits = {}, messages = {}, problems = {}, notes = {}}
  local header = raw:sub(FH_OFFSET + 1, FH_OFFSET + 3)
  record.crc_ok = crc_bytes(raw, ualink.prefs.covers) == raw:sub(CRC_OFFSET + 1)
  record.op, record.payload = bits(header, 21, 3), bits(header, 20, 1)
  record.number = record.op < 2 and bits(header, 8, 9) or bits(header, 8, 3)
  record.ack = bits(header, 11, 9)
  local state = states[state_key]
  if not state then
    state = {bad_run = 0, reset_run = 0, started = false, authentication = authentication}
    forget(state)
    states[state_key] = state
  end
  if lost > 0 then
    record.notes[1] = string.format("%d flits before this one were lost", lost)
    state.bad_run = state.bad_run + lost
  end
  if not record.crc_ok then record.state = "bad_crc"
  elseif record.op > 3 or record.op == 1 and record.payload == 0 then
    record.state, record.problems[1] = "bad_header", "reserved op"
  else
    find_restart(state, record)
    record.state = place(state, record)
    state.bad_run = 0
    if record.state == "payload" then unpack_payload(state, raw, record) end
    return record
  end
  state.bad_run = state.bad_run + 1
  return record
end

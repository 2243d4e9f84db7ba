-- Wireshark dissector for captures of UALink_200 DL flits: link type 147 (USER0), one 640-byte flit a packet.
-- Use: wireshark -X lua_script:ualink.lua capture.pcapng, or put the file into the personal plugin folder.
--
-- Nothing inside a half-flit says what it is, so every interface is followed in file order on the first pass: sequence
-- numbers, TL flits that cross DL flits, and the count of owed data half-flits. Authentication is taken to be off.

local ualink = Proto("ualink", "UALink_200 DL flit")
local bit = bit or bit32

ualink.prefs.covers = Pref.bool("CRC covers its own field as zeros", true, "Ruling A-05 (DL)")

local FLIT_BYTES, SECTORS, LAST_SEQ, WINDOW = 640, 157, 511, 256
local SEGMENT_SECTORS, SEGMENT_START = {32, 32, 32, 31, 30}, {0, 32, 64, 96, 127}
local SH_OFFSET, FH_OFFSET, CRC_OFFSET = {67, 195, 323, 451, 579}, 624, 636
local READ, WRITE_FULL = 0x03, 0x29
local POISON = 0x20

-- Control fields: name, sectors, and members below FTYPE from the most significant bit (UALink_200 Tables 5-29 to 5-36).
local CONTROL = {
  [0] = {"Flow Control", 1, {}},
  {"Uncompressed Request", 4, {{"cmd", 6}, {"vchan", 2}, {"asi", 2}, {"tag", 11}, {"pool", 1}, {"attr", 8}, {"len", 6},
    {"meta_data", 8}, {"addr", 55}, {"src_acc_id", 10}, {"dst_acc_id", 10}, {"cload", 1}, {"cway", 2}, {"num_beats", 2}}},
  {"Uncompressed Response", 2, {{"vchan", 2}, {"tag", 11}, {"pool", 1}, {"len", 2}, {"offset", 2}, {"status", 4},
    {"rd_wr", 1}, {"last", 1}, {"src_acc_id", 10}, {"dst_acc_id", 10}}},
  {"Compressed Request", 2, {{"cmd", 3}, {"vchan", 2}, {"asi", 2}, {"tag", 11}, {"pool", 1}, {"len", 2}, {"meta_data", 3},
    {"addr", 14}, {"src_acc_id", 10}, {"dst_acc_id", 10}, {"cway", 2}}},
  {"Compressed Response for Single-Beat Read", 1, {{"vchan", 2}, {"tag", 11}, {"pool", 1}, {"dst_acc_id", 10},
    {"offset", 2}, {"last", 1}}},
  {"Compressed Response", 1, {{"vchan", 2}, {"tag", 11}, {"pool", 1}, {"dst_acc_id", 10}, {"len", 2}, {"rd_wr", 1}}},
}
local CREDITS = {{"req_cmd", 22, 3}, {"rsp_cmd", 16, 3}, {"req_data", 8, 5}, {"rsp_data", 0, 5}}
local COMPRESSED = {[0] = READ, [4] = 0x28, [6] = WRITE_FULL}
local COMMANDS = {[0x03] = "Read", [0x28] = "Write", [0x29] = "WriteFull", [0x2A] = "UPLI Write Message",
  [0x30] = "AtomicR", [0x32] = "AtomicNR"}
local STATUS = {[0] = "OKAY", [2] = "TARGET ABORT", [3] = "DECODE ERROR", [6] = "PROTECTION VIOLATION", [8] = "CMPTO",
  [15] = "ISOLATE"}
local TL_MESSAGES = {[0] = "NOP", [1] = "Initial Credit Release Complete", [0x20] = "Poisoned Data"}
local DL_MESSAGES = {[0x000] = "No-Op", [0x100] = "TL Rate Notification", [0x140] = "Device ID Request",
  [0x180] = "Port Number Request", [0x120] = "Channel Negotiation", [0x004] = "UART Stream Transport",
  [0x044] = "UART Stream Credit Update", [0x184] = "UART Stream Reset Request", [0x1C4] = "UART Stream Reset Response"}
local UART_TRANSPORT = 0x004
local OPS = {[0] = "original", "replay", "Ack", "Replay Request"}

local f = {
  crc = ProtoField.bytes("ualink.crc", "CRC"),
  crc_ok = ProtoField.bool("ualink.crc_ok", "CRC matches"),
  header = ProtoField.uint24("ualink.header", "Flit header", base.HEX),
  op = ProtoField.uint8("ualink.op", "Op", base.DEC, OPS),
  payload = ProtoField.bool("ualink.payload", "Payload"),
  explicit = ProtoField.bool("ualink.explicit", "Explicit sequence number"),
  flit_seq_no = ProtoField.uint16("ualink.flit_seq_no", "flitSeqNo"),
  ack_req_seq = ProtoField.uint16("ualink.ack_req_seq", "ackReqSeq"),
  flit_seq_lo = ProtoField.uint8("ualink.flit_seq_lo", "flitSeqLo"),
  seq = ProtoField.uint16("ualink.seq", "Sequence number"),
  new = ProtoField.bool("ualink.new", "Continues the stream"),
  segment = ProtoField.uint8("ualink.segment_header", "Segment header", base.HEX),
  message = ProtoField.uint32("ualink.message", "DL message", base.HEX),
  message_name = ProtoField.string("ualink.message.name", "DL message"),
  tl_flit = ProtoField.bytes("ualink.tl.flit", "TL flit"),
  half = ProtoField.string("ualink.tl.half_flit", "Half-flit"),
  data = ProtoField.bytes("ualink.tl.data", "Data"),
  byte_enables = ProtoField.bytes("ualink.tl.byte_enables", "Byte enables"),
  poisoned = ProtoField.bool("ualink.tl.poisoned", "Poisoned"),
  tl_message = ProtoField.uint8("ualink.tl.message", "TL message", base.HEX, TL_MESSAGES),
  ftype = ProtoField.uint8("ualink.tl.ftype", "FTYPE", base.HEX),
  problem = ProtoField.string("ualink.problem", "Problem"),
}
local members = {}
for ftype = 1, 5 do
  for _, member in ipairs(CONTROL[ftype][3]) do
    local name = member[1]
    if name == "addr" then
      members[name] = members[name] or ProtoField.uint64("ualink.tl.addr", "addr", base.HEX)
    elseif not members[name] then
      local strings = name == "status" and STATUS or nil
      members[name] = ProtoField.uint32("ualink.tl." .. name, name, (name == "attr" or name == "cmd") and base.HEX or base.DEC, strings)
    end
  end
end
members.credits = ProtoField.string("ualink.tl.credits", "Credits")
members.command = ProtoField.string("ualink.tl.command", "Command")
local all = {}
for _, field in pairs(f) do all[#all + 1] = field end
for _, field in pairs(members) do all[#all + 1] = field end
ualink.fields = all

local bad_crc = ProtoExpert.new("ualink.bad_crc", "CRC does not match", expert.group.CHECKSUM, expert.severity.ERROR)
local broken = ProtoExpert.new("ualink.broken", "Rule broken", expert.group.PROTOCOL, expert.severity.WARN)
ualink.experts = {bad_crc, broken}

local interface_id, interface_name = Field.new("frame.interface_id"), Field.new("frame.interface_name")

-- CRC (UALink_200 §6.3.7): the bits of CRC-32 in reverse order, so that x^0 is bit 0 of CRC0.
local crc_table, reversed = {}, {}
for n = 0, 255 do
  local c, r = n, 0
  for k = 0, 7 do
    c = bit.band(c, 1) == 1 and bit.bxor(bit.rshift(c, 1), 0xEDB88320) or bit.rshift(c, 1)
    r = r * 2 + bit.band(bit.rshift(n, k), 1)
  end
  crc_table[n], reversed[n] = c, r
end

local function crc_bytes(raw, covers)
  local c = 0xFFFFFFFF
  for n = 1, CRC_OFFSET do
    c = bit.bxor(crc_table[bit.band(bit.bxor(c, raw:byte(n)), 0xFF)], bit.rshift(c, 8))
  end
  for _ = 1, covers and 4 or 0 do
    c = bit.bxor(crc_table[bit.band(c, 0xFF)], bit.rshift(c, 8))
  end
  c = bit.bnot(c)
  local out = {}
  for n = 3, 0, -1 do out[#out + 1] = string.char(reversed[bit.band(bit.rshift(c, 8 * n), 0xFF)]) end
  return table.concat(out)
end

-- Where each byte of each sector stands in the flit (UALink_200 §6.3.4, Figure 6-4).
local SPLIT = {[31] = {64, 65, 66, 131}, [47] = {128, 129, 130, 194}, [63] = {192, 193, 258, 259},
  [79] = {256, 257, 321, 322}, [95] = {320, 385, 386, 387}, [111] = {384, 448, 449, 450}, [156] = {576, 577, 578, 627}}
local function sector(raw, s)
  local split = SPLIT[s]
  if split then
    return string.char(raw:byte(split[1] + 1), raw:byte(split[2] + 1), raw:byte(split[3] + 1), raw:byte(split[4] + 1))
  end
  local at
  if s < 16 then at = 4 * s
  elseif s < 127 then at = 64 * math.floor(s / 16) + 4 * (s % 16) + 4
  elseif s < 143 then at = 512 + 4 * (s - 127)
  elseif s < 154 then at = 576 + 4 * (s - 143) + 4
  else at = 628 + 4 * (s - 154) end
  return raw:sub(at + 1, at + 4)
end

-- Bits low .. low+width-1 of the little-endian number in ``bytes``; up to 53 of them.
local function bits(bytes, low, width)
  local value, scale = 0, 1
  while width > 0 do
    local take = math.min(width, 8 - low % 8)
    local part = math.floor((bytes:byte(math.floor(low / 8) + 1) or 0) / 2 ^ (low % 8)) % 2 ^ take
    value, scale = value + part * scale, scale * 2 ^ take
    low, width = low + take, width - take
  end
  return value
end

local function member_bits(ftype, bytes)
  local values, low = {}, 32 * CONTROL[ftype][2] - 4
  for _, member in ipairs(CONTROL[ftype][3]) do
    low = low - member[2]
    if member[2] <= 53 then values[member[1]] = bits(bytes, low, member[2]) end
  end
  return values
end

-- Fields of a Control half-flit from the low sector up, NOP left out: {sector, ftype, bytes}; nil and a reason if illegal.
local function control_fields(half)
  local found, top = {}, 7
  while top >= 0 do
    local ftype = math.floor(half:byte(4 * top + 4) / 16)
    local kind = CONTROL[ftype]
    if not kind then return nil, string.format("FTYPE %d in sector %d is not legal", ftype, top) end
    local low = top - kind[2] + 1
    if low < 0 or low % kind[2] ~= 0 then
      return nil, string.format("a field of %d sectors cannot end in sector %d", kind[2], top)
    end
    local bytes = half:sub(4 * low + 1, 4 * top + 4)
    if bytes:find("[^%z]") then table.insert(found, 1, {low, ftype, bytes}) end
    top = low - 1
  end
  return found
end

-- Data half-flits that a field owes, and whether the last holds byte enables (UALink_200 §5.1.1).
local function owed_by(ftype, bytes)
  local v = member_bits(ftype, bytes)
  if ftype == 1 or ftype == 3 then
    local cmd = ftype == 1 and v.cmd or COMPRESSED[v.cmd] or READ
    if cmd < 0x20 then return 0, false, v.tag end
    local beats = (ftype == 1 and v.num_beats or v.len) + 1
    local enables = cmd ~= WRITE_FULL
    return 2 * beats + (enables and 1 or 0), enables, v.tag
  elseif ftype == 4 then
    return 2, false, v.tag
  elseif ftype ~= 0 and v.rd_wr == 1 then
    return 2 * (v.len + 1), false, v.tag
  end
  return 0, false, v.tag
end

local states, records = {}, {}
local function restart()
  return {accepted = LAST_SEQ, position = LAST_SEQ, part = nil, owed = {}, failed = false, uart = 0}
end

local function data_half(state, half, m, out)
  if m == 1 and half:byte(1) ~= POISON then
    out[#out + 1] = {kind = "message", type = half:byte(1)}
    return
  end
  local owed = table.remove(state.owed, 1)
  if m == 1 and owed.be then
    state.failed = "a poison message stands in the place of byte enables"
    return
  end
  out[#out + 1] = {kind = owed.be and "byte enables" or "data", tag = owed.tag, index = owed.index, poisoned = m == 1}
end

-- The half-flits of one TL flit (UALink_200 §5.1.1 and §5.1.2).
local function tl_flit(state, flit, m0, m1)
  local out, lower, upper = {}, flit:sub(1, 32), flit:sub(33, 64)
  if state.failed then return out end
  if #state.owed >= 2 then
    data_half(state, lower, m0, out)
    if not state.failed then data_half(state, upper, m1, out) end
    return out
  end
  local new, swap = {}, #state.owed == 1
  if m0 == 1 then
    if lower:byte(1) == POISON then state.failed = "a poison message stands where no data is due" return out end
    out[#out + 1] = {kind = "message", type = lower:byte(1)}
  else
    local fields, reason = control_fields(lower)
    if not fields then state.failed = reason return out end
    out[#out + 1] = {kind = "control"}
    for _, field in ipairs(fields) do
      local count, enables, tag = owed_by(field[2], field[3])
      for n = 1, count do new[#new + 1] = {tag = tag, index = n - 1, be = enables and n == count} end
    end
  end
  local function owe() for _, half in ipairs(new) do state.owed[#state.owed + 1] = half end end
  if not swap then owe() end
  if #state.owed > 0 then
    data_half(state, upper, m1, out)
  elseif m1 == 1 then
    if upper:byte(1) == POISON then state.failed = "a poison message stands where no data is due" return out end
    out[#out + 1] = {kind = "message", type = upper:byte(1)}
  elseif upper:find("[^%z]") then
    state.failed = "the upper half must be a NOP half-flit here and is not zero"
    return out
  else
    out[#out + 1] = {kind = "NOP"}
  end
  if swap then owe() end
  return out
end

-- TL flits and DL messages of an accepted payload flit (UALink_200 §6.3.4).
local function unpack_flit(state, raw, record)
  local function take(first, count)
    local parts = {}
    for s = first, first + count - 1 do parts[#parts + 1] = sector(raw, s) end
    state.part.bytes = state.part.bytes .. table.concat(parts)
    if #state.part.bytes == 64 then
      local m = state.part.message
      record.flits[#record.flits + 1] = {
        bytes = state.part.bytes, halves = tl_flit(state, state.part.bytes, m % 2, math.floor(m / 2))}
      state.part = nil
    end
    return count
  end
  for segment = 1, 5 do
    local header, start, size, at = raw:byte(SH_OFFSET[segment] + 1), SEGMENT_START[segment], SEGMENT_SECTORS[segment], 0
    if header % 2 == 1 then
      local dword = sector(raw, start)
      local value = bits(dword, 0, 32)
      local name = "UART payload"
      if state.uart > 0 then state.uart = state.uart - 1
      else
        name = DL_MESSAGES[bits(dword, 0, 9) - bits(dword, 0, 2)] or "undefined"
        if bits(dword, 2, 7) * 4 == UART_TRANSPORT then state.uart = bits(dword, 27, 5) + 1 end
      end
      record.messages[#record.messages + 1] = {value, name}
      at = 1
    end
    local function go_on() if state.part then at = at + take(start + at, math.min(16 - #state.part.bytes / 4, size - at)) end end
    go_on()
    for n = 0, 1 do
      if bits(string.char(header), 4 + 3 * n, 1) == 0 then at = math.max(at, 16)
      elseif state.part or at >= size then
        record.problem = string.format("segment %d: TL Flit[%d] has no sector to start in", segment - 1, n)
      else
        state.part = {bytes = "", message = bits(string.char(header), 2 + 3 * n, 2)}
        go_on()
      end
    end
  end
end

local function follow(raw, name, state_key)
  local record = {flits = {}, messages = {}}
  record.crc_ok = crc_bytes(raw, ualink.prefs.covers) == raw:sub(CRC_OFFSET + 1)
  local header = raw:sub(FH_OFFSET + 1, FH_OFFSET + 3)
  local op, payload = bits(header, 21, 3), bits(header, 20, 1)
  record.op, record.payload, record.explicit = op, payload, op < 2
  if not record.crc_ok then return record end
  if op > 3 or (op == 1 and payload == 0) then record.problem = "reserved op" return record end
  local state = states[state_key] or restart()
  states[state_key] = state
  if op < 2 then
    record.seq = bits(header, 8, 9)
    if op == 0 and payload == 1 and record.seq == 1 then
      local ahead = (1 - state.accepted) % 511
      local received = name:sub(-3) == "/rx"
      if (received and (ahead > WINDOW or ahead == 0)) or (not received and ahead ~= 1) then
        state = restart()
        states[state_key] = state
      end
    end
  else
    local step = (bits(header, 8, 3) - state.position % 8) % 8
    if step == 0 and payload == 1 then step = 8 end
    record.seq = (state.position + step) % 512
    if bits(header, 11, 9) == 0 then record.problem = "sequence number 0 is reserved" return record end
  end
  if record.seq == 0 then record.problem = "sequence number 0 is reserved" return record end
  state.position = record.seq
  record.new = payload == 1 and record.seq == state.accepted % 511 + 1
  if record.new then
    state.accepted = record.seq
    unpack_flit(state, raw, record)
    if state.failed and not state.told then record.problem, state.told = state.failed, true end
  end
  return record
end

local function add_control(tree, range, half)
  local fields = control_fields(half)
  for _, field in ipairs(fields or {}) do
    local low, ftype, bytes = field[1], field[2], field[3]
    local kind = CONTROL[ftype]
    local part = range(4 * low, 4 * kind[2])
    local branch = tree:add(f.ftype, part, ftype)
    if ftype == 0 then
      local words = {}
      for _, credit in ipairs(CREDITS) do
        local name, at, width = credit[1], credit[2], credit[3]
        local count = bits(bytes, at, width)
        local where = bits(bytes, at + width + 2, 1) == 1 and "vc" .. bits(bytes, at + width, 2) or "pool"
        if count > 0 then words[#words + 1] = string.format("%s %d %s", name, count, where) end
      end
      branch:set_text("Credits: " .. table.concat(words, ", "))
      branch:add(members.credits, part, table.concat(words, ", "))
    else
      local values = member_bits(ftype, bytes)
      local command = values.cmd and COMMANDS[ftype == 1 and values.cmd or COMPRESSED[values.cmd]]
      branch:set_text(string.format("[%d] %s%s tag %d", low, kind[1], command and " " .. command or "", values.tag))
      branch:add(f.ftype, part, ftype)
      if command then branch:add(members.command, part, command) end
      for _, member in ipairs(kind[3]) do
        local name = member[1]
        if name ~= "addr" then branch:add(members[name], part, values[name])
        elseif ftype == 1 then
          local address = UInt64.new(bits(bytes, 25, 30) * 4, bits(bytes, 55, 25))
          branch:add(members.addr, part, address)
        else branch:add(members.addr, part, UInt64.new(values.addr * 64, 0)) end
      end
    end
  end
end

local function add_tl_flit(tree, number, flit)
  local hex = flit.bytes:gsub(".", function(c) return string.format("%02x", c:byte()) end)
  local range = ByteArray.new(hex):tvb("TL flit " .. number)
  local branch = tree:add(f.tl_flit, range())
  branch:set_text("TL flit " .. number)
  for n, half in ipairs(flit.halves) do
    local part = range(32 * (n - 1), 32)
    local twig = branch:add(f.half, part, half.kind)
    twig:set_text((n == 1 and "Lower: " or "Upper: ") .. half.kind)
    if half.kind == "control" then
      add_control(twig, part, flit.bytes:sub(1, 32))
    elseif half.kind == "message" then
      twig:add(f.tl_message, part, half.type)
    elseif half.kind ~= "NOP" then
      twig:append_text(string.format(" %d of tag %d%s", half.index, half.tag, half.poisoned and ", poisoned" or ""))
      if half.poisoned then twig:add(f.poisoned, part, true)
      else twig:add(half.kind == "data" and f.data or f.byte_enables, part) end
    end
  end
end

function ualink.init() states, records = {}, {} end

function ualink.dissector(buffer, pinfo, root)
  if buffer:len() ~= FLIT_BYTES then return 0 end
  local raw = buffer:raw(0, FLIT_BYTES)
  local id, name = interface_id(), interface_name()
  name = name and tostring(name.value) or ""
  if not pinfo.visited or not records[pinfo.number] then
    records[pinfo.number] = follow(raw, name, id and id.value or 0)
  end
  local record = records[pinfo.number]
  local tree = root:add(ualink, buffer())

  local header = buffer(FH_OFFSET, 3)
  local branch = tree:add_le(f.header, header)
  branch:add(f.op, header, record.op)
  branch:add(f.payload, header, record.payload == 1)
  branch:add(f.explicit, header, record.explicit)
  local bytes = raw:sub(FH_OFFSET + 1, FH_OFFSET + 3)
  if record.explicit then
    branch:add(f.flit_seq_no, header, bits(bytes, 8, 9))
  else
    branch:add(f.ack_req_seq, header, bits(bytes, 11, 9))
    branch:add(f.flit_seq_lo, header, bits(bytes, 8, 3))
  end
  if record.seq then
    tree:add(f.seq, header, record.seq)
    tree:add(f.new, header, record.new or false)
  end
  local crc = tree:add(f.crc, buffer(CRC_OFFSET, 4))
  crc:add(f.crc_ok, buffer(CRC_OFFSET, 4), record.crc_ok)
  if not record.crc_ok then crc:add_proto_expert_info(bad_crc) end
  for segment = 1, 5 do
    local range = buffer(SH_OFFSET[segment], 1)
    local value, words = range:uint(), {}
    if value % 2 == 1 then words[1] = "alternative sector" end
    for n = 0, 1 do
      if bits(string.char(value), 4 + 3 * n, 1) == 1 then
        words[#words + 1] = string.format("TL Flit[%d] with message bits %d", n, bits(string.char(value), 2 + 3 * n, 2))
      end
    end
    tree:add(f.segment, range):append_text(#words > 0 and " (" .. table.concat(words, ", ") .. ")" or "")
  end
  if record.problem then
    tree:add(f.problem, buffer(), record.problem):add_proto_expert_info(broken, record.problem)
  end
  for _, message in ipairs(record.messages) do
    tree:add(f.message, buffer(), message[1]):append_text(" " .. message[2])
    tree:add(f.message_name, buffer(), message[2])
  end
  for number, flit in ipairs(record.flits) do add_tl_flit(tree, number - 1, flit) end

  pinfo.cols.protocol = "UALink"
  local what = record.payload == 1 and "payload" or "NOP"
  local command = record.explicit and OPS[record.op] or
    string.format("%s %d", OPS[record.op] or "reserved", bits(bytes, 11, 9))
  pinfo.cols.info = record.crc_ok
    and string.format("%s #%s %s, %d TL flits", what, tostring(record.seq), command, #record.flits) or "CRC does not match"
  return FLIT_BYTES
end

DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap).USER0, ualink)

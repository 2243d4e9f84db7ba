-- The tree and the columns of a packet.

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
    elseif half.kind == "tags" then
      for tag = 0, half.count - 1 do
        local words = {}
        for byte = 32 * n - 24 + 8 * tag, 32 * n - 31 + 8 * tag, -1 do
          words[#words + 1] = string.format("%02x", flit.bytes:byte(byte))
        end
        twig:add(f.auth_tag, part(8 * tag, 8), table.concat(words))
      end
    elseif half.kind ~= "NOP" and half.kind ~= "unknown" then
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
  if not pinfo.visited or not records[pinfo.number] then
    local id, lost, words = interface_id(), drop_count(), description()
    local authentication = ualink.prefs.authentication or words ~= nil and words.value == "authentication"
    local number = lost and tonumber(tostring(lost.value)) or 0
    records[pinfo.number] = follow(raw, number, id and id.value or 0, authentication)
  end
  local record = records[pinfo.number]
  local tree = root:add(ualink, buffer())

  local header = buffer(FH_OFFSET, 3)
  local branch = tree:add_le(f.header, header)
  branch:add(f.op, header, record.op)
  branch:add(f.payload, header, record.payload == 1)
  branch:add(f.explicit, header, record.op < 2)
  if record.op < 2 then
    branch:add(f.flit_seq_no, header, record.number)
  else
    branch:add(f.ack_req_seq, header, record.ack)
    branch:add(f.flit_seq_lo, header, record.number)
  end
  if record.seq then tree:add(f.seq, header, record.seq) end
  tree:add(f.state, header, record.state)
  tree:add(f.new, header, record.state == "payload")
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
  for _, problem in ipairs(record.problems) do
    tree:add(f.problem, buffer(), problem):add_proto_expert_info(broken, problem)
  end
  for _, note in ipairs(record.notes) do tree:add(f.note, buffer(), note):add_proto_expert_info(noted, note) end
  for _, message in ipairs(record.messages) do
    tree:add(f.message, buffer(), message[1]):append_text(" " .. message[2])
    tree:add(f.message_name, buffer(), message[2])
  end
  for number, flit in ipairs(record.flits) do add_tl_flit(tree, number - 1, flit) end

  -- Interfaces are named acc0.0>sw0.0/tx: sender, receiver, and the end of the link at which the flit was seen.
  local interface = interface_name()
  local sender, receiver, tap = (interface and tostring(interface.value) or ""):match("^([^>]+)>([^/]+)/?(.*)$")
  if sender then
    pinfo.cols.src, pinfo.cols.dst = sender, receiver
  end
  pinfo.cols.protocol = "UALink"
  local what = record.payload == 1 and "payload" or "NOP"
  local command = record.op < 2 and OPS[record.op] or string.format("%s %d", OPS[record.op] or "reserved", record.ack)
  pinfo.cols.info = record.crc_ok
    and string.format("%s #%s %s, %d TL flits", what, tostring(record.seq or "?"), command, #record.flits) or "CRC does not match"
  if tap and tap ~= "" then pinfo.cols.info:append(", seen at " .. tap) end
  return FLIT_BYTES
end

DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap).USER0, ualink)

-- Wireshark dissector for captures of UALink_200 DL flits: link type 147 (USER0), one 640-byte flit a packet.
-- Use: wireshark -X lua_script:ualink.lua capture.pcapng, or put the file into the personal plugin folder.
--
-- Nothing inside a half-flit says what it is, so every interface is followed in file order on the first pass: sequence
-- numbers, TL flits that cross DL flits, and the count of owed data half-flits. Where a capture starts in mid-stream, all
-- possible counts are followed until one is left. Links have authentication where the interface's description says so,
-- or all of them by preference.

local ualink = Proto("ualink", "UALink_200 DL flit")
local bit = bit or bit32

ualink.prefs.covers = Pref.bool("CRC covers its own field as zeros", true, "Ruling A-05 (DL)")
ualink.prefs.authentication = Pref.bool("Authentication on every link", false,
  "Expect AuthTags half-flits also where the interface's description does not say \"authentication\"")

local FLIT_BYTES, RESET_SEQ, WINDOW = 640, 511, 256
local AMBIGUOUS_AFTER, RESTART_NOPS, NEAR_RESET = 7, 8, 16
local MOST_OWED, MOST_TAGS, CREDIT_RELEASE_COMPLETE = 64, 4, 0x01
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
  state = ProtoField.string("ualink.state", "State"),
  segment = ProtoField.uint8("ualink.segment_header", "Segment header", base.HEX),
  message = ProtoField.uint32("ualink.message", "DL message", base.HEX),
  message_name = ProtoField.string("ualink.message.name", "DL message"),
  tl_flit = ProtoField.bytes("ualink.tl.flit", "TL flit"),
  half = ProtoField.string("ualink.tl.half_flit", "Half-flit"),
  data = ProtoField.bytes("ualink.tl.data", "Data"),
  byte_enables = ProtoField.bytes("ualink.tl.byte_enables", "Byte enables"),
  poisoned = ProtoField.bool("ualink.tl.poisoned", "Poisoned"),
  auth_tag = ProtoField.string("ualink.tl.auth_tag", "Authentication tag"),
  tl_message = ProtoField.uint8("ualink.tl.message", "TL message", base.HEX, TL_MESSAGES),
  ftype = ProtoField.uint8("ualink.tl.ftype", "FTYPE", base.HEX),
  problem = ProtoField.string("ualink.problem", "Problem"),
  note = ProtoField.string("ualink.note", "Note"),
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
local noted = ProtoExpert.new("ualink.noted", "State of the stream", expert.group.SEQUENCE, expert.severity.NOTE)
ualink.experts = {bad_crc, broken, noted}

local interface_id, drop_count = Field.new("frame.interface_id"), Field.new("frame.drop_count")
local description, interface_name = Field.new("frame.interface_description"), Field.new("frame.interface_name")

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
    if ftype == 3 then
      local v = member_bits(ftype, bytes)
      if not COMPRESSED[v.cmd] then return nil, string.format("CMD %d of a Compressed Request is reserved", v.cmd) end
      if v.addr % 4 + v.len > 3 then return nil, "a Compressed Request crosses 256 bytes" end
    end
    if bytes:find("[^%z]") then table.insert(found, 1, {low, ftype, bytes}) end
    top = low - 1
  end
  return found
end

-- Data half-flits that a field owes, and whether the last holds byte enables (UALink_200 §5.1.1).
local function owed_by(ftype, bytes)
  local v = member_bits(ftype, bytes)
  if ftype == 1 or ftype == 3 then
    local cmd = ftype == 1 and v.cmd or COMPRESSED[v.cmd]
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

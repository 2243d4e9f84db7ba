-- The stream of TL flits: half-flits in their sequence (UALink_200 §5.1).

-- Numbers run from 1 to 511 (UALink_200 §6.6.6.1).
local function next_seq(seq) return seq % 511 + 1 end
local function steps(from, to) return (to - from) % 511 end

-- A TL receiver (UALink_200 §5.1.1): the data half-flits still owed, and why it stopped, if it did.
local function data_half(tl, half, m, out)
  if m == 1 and half:byte(1) ~= POISON then
    out[#out + 1] = {kind = "message", type = half:byte(1)}
    return
  end
  if m == 1 and tl.owed[1].be then
    tl.failed = "a poison message stands in the place of byte enables"
    return
  end
  local owed = table.remove(tl.owed, 1)
  out[#out + 1] = {kind = owed.be and "byte enables" or "data", tag = owed.tag, index = owed.index, poisoned = m == 1}
end

local function other_message(tl, half, out)
  if half:byte(1) == POISON then
    tl.failed = "a poison message stands where no data is due"
  else
    out[#out + 1] = {kind = "message", type = half:byte(1)}
  end
end

-- The half-flits of one TL flit (UALink_200 §5.1.1 and §5.1.2), on a link with or without authentication.
local function tl_flit(tl, flit, m0, m1, authentication)
  local out, lower, upper = {}, flit:sub(1, 32), flit:sub(33, 64)
  if #tl.owed >= 2 then
    data_half(tl, lower, m0, out)
    if not tl.failed then data_half(tl, upper, m1, out) end
    return out
  end
  local new, swap, tagged = {}, #tl.owed == 1, 0
  if m0 == 1 then
    other_message(tl, lower, out)
  else
    local fields, reason = control_fields(lower)
    tl.failed = reason
    out[#out + 1] = {kind = "control"}
    for _, field in ipairs(fields or {}) do
      local count, enables, tag = owed_by(field[2], field[3])
      if authentication and field[2] ~= 0 then tagged = tagged + 1 end
      for n = 1, count do
        new[#new + 1] = {tag = tag, index = n - 1, be = enables and n == count, id = field[3] .. n}
      end
    end
  end
  if not tl.failed and tagged > (swap and 0 or MOST_TAGS) then
    tl.failed = string.format("%d tagged fields in one Control half-flit%s", tagged, swap and " of a swap flit" or "")
  end
  if tl.failed then return out end
  local function owe() for _, half in ipairs(new) do tl.owed[#tl.owed + 1] = half end end
  if not swap then owe() end
  if tagged > 0 then
    if m1 == 1 then tl.failed = "a message stands in the place of authentication tags"
    else out[#out + 1] = {kind = "tags", count = tagged} end
  elseif #tl.owed > 0 then
    data_half(tl, upper, m1, out)
  elseif m1 == 1 then
    other_message(tl, upper, out)
  elseif upper:find("[^%z]") then
    tl.failed = "the upper half must be a NOP half-flit here and is not zero"
  else
    out[#out + 1] = {kind = "NOP"}
  end
  if swap then owe() end
  return out
end

-- Follow every candidate, and keep one of those that come to the same; nil until only one is left.
local function narrow(set, step, fresh)
  local left, seen = {}, {}
  for _, candidate in ipairs(set.list) do
    local key = step(candidate)
    if key and not seen[key] then
      seen[key], left[#left + 1] = true, candidate
    end
  end
  set.list = #left > 0 and left or fresh()
  return #left == 1 and left[1] or nil
end

local function any_owed()
  local list = {}
  for count = 0, MOST_OWED do
    local owed = {}
    for n = 1, count do owed[n] = {tag = 0, index = n - 1, be = false, id = "?" .. n} end
    list[#list + 1] = {owed = owed}
  end
  return list
end

local function any_carry_over()
  local list = {}
  for carry = 0, 15 do
    list[#list + 1] = carry == 0 and {} or {part = {bytes = string.rep("\0", 64 - 4 * carry), message = 0}}
  end
  return list
end

local function decode_tl_flit(state, bytes, m0, m1, record)
  local function told(problem) record.problems[#record.problems + 1] = problem end
  local function noted(note) record.notes[#record.notes + 1] = note end
  if not state.tl then
    if m0 == 1 and bytes:byte(1) == CREDIT_RELEASE_COMPLETE or m1 == 1 and bytes:byte(33) == CREDIT_RELEASE_COMPLETE then
      state.tl = {owed = {}}
      noted("the TL is in step from the Initial Credit Release Complete message on")
    else
      state.tl = narrow(state.sequences, function(tl)
        tl_flit(tl, bytes, m0, m1, state.authentication)
        if tl.failed then return nil end
        local ids = {}
        for n, half in ipairs(tl.owed) do ids[n] = half.id .. (half.be and "b" or "d") end
        return table.concat(ids, "/")
      end, any_owed)
      if state.tl then
        state.sequences.list = any_owed()
        noted("the TL is in step from the next TL flit on")
      end
      return {{kind = "unknown"}, {kind = "unknown"}}
    end
  end
  local halves = tl_flit(state.tl, bytes, m0, m1, state.authentication)
  if state.tl.failed then
    told(state.tl.failed)
    noted("the TL is not decoded until it is in step again")
    state.tl, state.sequences.list = nil, any_owed()
  end
  return halves
end

-- HPerf for Slurm: a job's tag becomes the memory bandwidth that its tasks are counted with.
--
-- Runs inside slurmctld (Lua 5.1) at every submission, under its locks. So: one sorted file is asked by
-- bisection (a few dozen short reads, however large it is), nothing is waited for, nothing is started,
-- and whatever goes wrong the submission goes through. Unknown tags get nodes of their own.
--
-- The file is kept fresh by `shadowtime hperf publish`: lines "tag<TAB>MB/s", sorted by bytes.
local M = {}

M.TABLE = "@TABLE@"
M.GRES = "@GRES@"
M.PREFIX = "@PREFIX@" -- gres: before Slurm 24.05, which takes nothing but gres/
M.CAPACITY = tonumber("@CAPACITY@") -- MB/s of a node: more than this would be refused by Slurm
M.FIELD = "@FIELD@" -- comment (tag=NAME in it), or a field that is the tag, as name
M.LONGEST = 255
M.STEPS = 64

local NO_VAL = 4294967294

-- Byte order, as the file is sorted: Lua's own < follows the locale.
local function less(a, b)
  local n = math.min(#a, #b)
  for i = 1, n do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- The first line that begins at a place or behind it: its begin, its tag, its value.
local function line_at(f, place)
  f:seek("set", math.max(place - 1, 0))
  if place > 0 then f:read("*l") end
  local begin = f:seek()
  local line = f:read("*l")
  if not line then return nil end
  local tag, value = line:match("^([^\t]*)\t(%d+)$")
  return begin, tag, tonumber(value)
end

local READ_ONLY = 30 -- EROFS: only of a plain file on a file system that is mounted read-only

-- The table, nil if it is not there or not a plain file. Opening a FIFO to read waits for a writer, under
-- slurmctld's locks; to read and write it never waits, and there is no place to seek to.
local function opened()
  local f, _, why = io.open(M.TABLE, "r+")
  if not f and why == READ_ONLY then f = io.open(M.TABLE, "r") end
  if not f then return nil end
  local fine, size = pcall(f.seek, f, "end")
  if not fine or not size then
    f:close()
    return nil
  end
  return f, size
end

-- MB/s of a tag, nil if the file does not have it, or is not there.
function M.look_up(tag)
  local f, size = opened()
  if not f then return nil, "no table that SlurmUser may open" end
  local low, high = 0, size
  local found
  for _ = 1, M.STEPS do
    if low >= high then break end
    local middle = math.floor((low + high) / 2)
    local begin, name, value = line_at(f, middle)
    if not begin or begin >= high then
      high = middle
    elseif not name then -- a broken line: not ours to fix
      break
    elseif name == tag then
      found = value
      break
    elseif less(name, tag) then
      low = f:seek()
    else
      high = middle
    end
  end
  f:close()
  return found
end

function M.tag_of(job)
  local text = job[M.FIELD]
  if type(text) ~= "string" then return nil end
  local tag = text
  if M.FIELD == "comment" then tag = text:match("tag=([^%s,;]+)") end
  if not tag or tag == "" then return nil end
  return tag
end

local function number(value)
  if type(value) == "number" and value > 0 and value < NO_VAL then return value end
  return nil
end

local function is_set(value) return type(value) == "string" and value ~= "" end

-- Since 23.11 the cpus of a task (-c 3) are among its TRES: cpu=3 asks for no resource of ours.
local function only_cpus(value) return is_set(value) and value:match("^cpu=%d+$") ~= nil end

-- Would Slurm refuse it? Then it must not be asked for.
local function too_much(job, each)
  if M.CAPACITY and each > M.CAPACITY then return true end
  local tasks, nodes = number(job.num_tasks), number(job.max_nodes)
  if M.CAPACITY and tasks and nodes then
    return math.ceil(tasks / nodes) * each > M.CAPACITY
  end
  return false
end

local function decide(job)
  local tag = M.tag_of(job)
  if not tag then return "no tag" end
  local cpus = only_cpus(job.tres_per_task)
  if (is_set(job.tres_per_task) and not cpus) or is_set(job.tres_per_node)
    or is_set(job.tres_per_job) then
    return "asked for by the user"
  end
  local each, why
  if #tag <= M.LONGEST and not tag:find("%c") then each, why = M.look_up(tag) else why = "no tag" end
  if not each then
    job.shared = 0
    return "alone: " .. (why or "no record")
  end
  if too_much(job, each) then
    job.shared = 0
    return "alone: " .. each .. " MB/s a task do not fit"
  end
  if each > 0 then
    local wanted = M.PREFIX .. M.GRES .. ":" .. each
    if not number(job.num_tasks) then
      job.tres_per_node = wanted
    elseif cpus then
      job.tres_per_task = job.tres_per_task .. "," .. wanted
    else
      job.tres_per_task = wanted
    end
  end
  return "shared: " .. each .. " MB/s a task"
end

-- Called for every submission; never fails, never refuses.
function M.submit(job)
  local fine, answer = pcall(decide, job)
  if not fine then
    pcall(function() job.shared = 0 end)
    pcall(slurm.log_error, "hperf: %s", tostring(answer))
    return "alone: error"
  end
  if answer ~= "no tag" then pcall(slurm.log_info, "hperf: %s", answer) end
  return answer
end

return M

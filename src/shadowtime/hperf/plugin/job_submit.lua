-- Slurm's submit plug-in: HPerf alone. With rules of your own, keep your file and add the two lines
-- that name hperf to it.
local fine, hperf = pcall(dofile, "@DIR@/hperf.lua")

function slurm_job_submit(job_desc, part_list, submit_uid)
  if fine then hperf.submit(job_desc) end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS

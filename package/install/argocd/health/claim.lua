local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end
local function message(t) return by[t] ~= nil and by[t].message or nil end

-- The incumbent has its phase in the message of a condition.
local phase = (obj.status or {}).phase or message("_EphemeralClusterPhase") or ""
local words = (obj.status or {}).message

-- After a pause or before the first pass there is nothing to judge by.
if is("Synced", "False") and by["Synced"].reason ~= "ReconcilePaused" then
  return { status = "Degraded", message = message("Synced") or "Crossplane cannot reconcile it" }
end
if phase == "Failed" then
  return { status = "Degraded", message = words or "provisioning failed" }
end
if is("ProwJobCompleted", "True") then
  if by["ProwJobCompleted"].reason == "ProwJobFailure" then
    return { status = "Degraded", message = message("ProwJobCompleted") or "the job failed" }
  end
  return { status = "Healthy", message = "cluster returned" }
end
if phase == "Degraded" then
  return { status = "Degraded", message = words or "the cluster is not healthy" }
end
if is("Ready", "True") and phase ~= "Deprovisioning" then
  return { status = "Healthy", message = "cluster ready" }
end
return { status = "Progressing", message = words or (phase ~= "" and phase) or "waiting" }

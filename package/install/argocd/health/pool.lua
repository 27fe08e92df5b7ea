local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function refused(t) return by[t] ~= nil and by[t].status == "False" end

local phase = (obj.status or {}).phase or ""
local words = (obj.status or {}).message

-- After a pause or before the first pass there is nothing to judge by.
if refused("Synced") and by["Synced"].reason ~= "ReconcilePaused" then
  return { status = "Degraded", message = by["Synced"].message or "Crossplane cannot reconcile it" }
end
-- What is refused takes a change in Git, also while what was asked for before goes on.
if refused("RequestAccepted") then
  return { status = "Degraded", message = by["RequestAccepted"].message or "the definition is refused" }
end
if phase == "Degraded" then
  return { status = "Degraded", message = words or "the pool cannot do its work" }
end
if phase == "Ready" or phase == "Drained" then
  return { status = "Healthy", message = words or phase }
end
return { status = "Progressing", message = words or (phase ~= "" and phase) or "waiting" }

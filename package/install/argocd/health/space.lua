local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end
local function message(t) return by[t] ~= nil and by[t].message or nil end

-- The incumbent has neither phase nor message.
local phase = (obj.status or {}).phase
local words = (obj.status or {}).message

-- After a pause or before the first pass there is nothing to judge by.
if is("Synced", "False") and by["Synced"].reason ~= "ReconcilePaused" then
  return { status = "Degraded", message = message("Synced") or "Crossplane cannot reconcile it" }
end
if phase == "Degraded" then
  return { status = "Degraded", message = words or "the space is not as it should be" }
end
-- What somebody has to put right before it can ever be there.
local wrong = { SpaceNameInvalid = true, SpaceRefused = true }
if is("SpaceReady", "False") and wrong[by["SpaceReady"].reason] then
  return { status = "Degraded", message = words or by["SpaceReady"].message }
end
if is("Ready", "True") then
  return { status = "Healthy", message = "space ready" }
end
return { status = "Progressing", message = words or phase or "waiting" }

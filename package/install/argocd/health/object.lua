local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end

-- The Object credentials is paused until the hub says where the credentials are. Crossplane then says Synced=False.
if ((obj.metadata or {}).annotations or {})["crossplane.io/paused"] == "true" then
  return { status = "Progressing", message = "paused, which is how credentials begin" }
end
if is("Synced", "False") then
  return { status = "Degraded", message = by["Synced"].message or "not synced" }
end
-- One that mirrors the facts of a hub is never ready, so that it is read again every 30 s.
if is("Synced", "True") and ((obj.metadata or {}).labels or {})["testplatform.ci.openshift.org/hub-facts"] == "true" then
  return { status = "Healthy", message = "mirrors the facts of a hub" }
end
if is("Synced", "True") and is("Ready", "True") then
  return { status = "Healthy", message = "in sync" }
end
return { status = "Progressing", message = by["Ready"] ~= nil and by["Ready"].message or "waiting" }

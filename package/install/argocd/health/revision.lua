local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end

-- An older revision is inactive, and that is how it should be.
if (obj.spec or {}).desiredState == "Inactive" then
  return { status = "Healthy", message = "inactive" }
end
-- Since Crossplane 2.0 in two halves, before in one.
local wanted = by["RevisionHealthy"] ~= nil and { "RevisionHealthy", "RuntimeHealthy" } or { "Healthy" }
if (obj.kind == "ConfigurationRevision") and by["RevisionHealthy"] ~= nil then wanted = { "RevisionHealthy" } end
local all = true
for _, t in ipairs(wanted) do
  local c = by[t]
  if c ~= nil and c.status == "False" then
    return { status = "Degraded", message = c.message or c.reason }
  end
  all = all and c ~= nil and c.status == "True"
end
if all then return { status = "Healthy", message = "healthy" } end
return { status = "Progressing", message = "not healthy yet" }

local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end

for _, t in ipairs({ "Installed", "Healthy" }) do
  local c = by[t]
  -- Unpacking and activating are steps on the way.
  if c ~= nil and c.status == "False" and c.reason ~= "UnpackingPackage" and c.reason ~= "InactivePackageRevision" then
    return { status = "Degraded", message = c.message or c.reason }
  end
end
if is("Installed", "True") and is("Healthy", "True") then
  return { status = "Healthy", message = "installed and healthy" }
end
return { status = "Progressing", message = "not installed and healthy yet" }

local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end
local function message(t) return is(t, "False") and by[t].message or nil end

-- Unpacking, as core calls a pull that failed and is tried again too, and activating are steps on the way.
local steps = { UnpackingPackage = true, InactivePackageRevision = true }
if is("Installed", "False") and not steps[by["Installed"].reason] then
  return { status = "Degraded", message = message("Installed") or by["Installed"].reason }
end
-- Core sets the identifier to the package as it stands in the spec, also where an ImageConfig has it pulled from elsewhere, and not
-- before it knows its revision. Until then the conditions are of the revision before.
if (obj.status or {}).currentIdentifier ~= (obj.spec or {}).package then
  return { status = "Progressing", message = message("Installed") or "the package that is asked for is not pulled yet" }
end
if is("Installed", "True") and is("Healthy", "True") then
  return { status = "Healthy", message = "installed and healthy" }
end
-- Healthy is False of every new revision until its pods run, so that is no failure.
local words = message("Installed") or message("Healthy") or "not installed and healthy yet"
return { status = "Progressing", message = words }

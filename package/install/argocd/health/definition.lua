local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
local function is(t, s) return by[t] ~= nil and by[t].status == s end

-- Only with both can claims be made.
if is("Established", "True") and is("Offered", "True") then
  return { status = "Healthy", message = "claims are served" }
end
for _, t in ipairs({ "Established", "Offered" }) do
  local c = by[t]
  if c ~= nil and c.status == "False" and not string.find(c.reason or "", "^Terminating") then
    return { status = "Degraded", message = c.message or c.reason }
  end
end
return { status = "Progressing", message = "not established and offered yet" }

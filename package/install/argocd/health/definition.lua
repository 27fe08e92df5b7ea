local by = {}
for _, c in ipairs((obj.status or {}).conditions or {}) do by[c.type] = c end
-- Since Crossplane 2.0 a condition says for which generation: until it is this one, the API server goes by the definition of before.
local generation = (obj.metadata or {}).generation
local function is(t, s)
  local c = by[t]
  if c == nil or c.status ~= s then return false end
  return c.observedGeneration == nil or generation == nil or c.observedGeneration == generation
end

-- Claims can be made only with both. Where a definition has none, core never says Offered.
local claims = (obj.spec or {}).claimNames ~= nil
if is("Established", "True") and (is("Offered", "True") or not claims) then
  return { status = "Healthy", message = claims and "claims are served" or "composites are served" }
end
for _, t in ipairs({ "Established", "Offered" }) do
  local c = by[t]
  if c ~= nil and c.status == "False" and not string.find(c.reason or "", "^Terminating") then
    return { status = "Degraded", message = c.message or c.reason }
  end
end
return { status = "Progressing", message = claims and "not established and offered yet" or "not established yet" }

-- A session in Neovim, without its screen: mistypes a state, sees the finding, applies the repair, renames a state, completes a
-- message, formats, and uses what crosses files. Prints one line for each step that worked, and ends with an error at the first that did not.

vim.o.virtualedit = "onemore"
local server, folder = vim.env.DUOLOGUE, vim.env.DUOLOGUE_FOLDER

local function fail(words)
  io.stderr:write(words .. "\n")
  vim.cmd("cquit 1")
end

local function step(words)
  io.stdout:write(words .. "\n")
end

local function wait(what, is_done)
  if not vim.wait(30000, is_done, 10) then fail("no " .. what) end
end

vim.cmd("edit " .. folder .. "/bank.proto")
local client = vim.lsp.start_client({
  name = "duologue",
  cmd = { server, "lsp" },
  root_dir = folder,
  capabilities = vim.lsp.protocol.make_client_capabilities(),
})
if not client then fail("the server does not start") end
wait("answer to initialize", function()
  local found = vim.lsp.get_client_by_id(client)
  return found and found.initialized
end)
vim.lsp.buf_attach_client(0, client)

local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end
local function text() return table.concat(lines(), "\n") end

local function request(method, params)
  local answers, problem = vim.lsp.buf_request_sync(0, method, params, 30000)
  if problem then fail(method .. ": " .. problem) end
  local answer = answers[client]
  if answer.error then fail(method .. ": " .. vim.inspect(answer.error)) end
  return answer.result
end

local function find(pattern)
  for number, line in ipairs(lines()) do
    local column = line:find(pattern)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 })
      return number - 1
    end
  end
  fail("the text has no " .. pattern)
end

-- The mistake is typed as in insert mode.
find("-> connected,")
vim.cmd("normal! wxiN")
wait("finding", function() return #vim.diagnostic.get(0) > 0 end)
local finding = vim.diagnostic.get(0)[1]
step("finding: " .. finding.message:match("[^\n]*"))

local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(0) }
local actions = request("textDocument/codeAction", params)
if #actions == 0 then fail("no action") end
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
wait("end of the finding", function() return #vim.diagnostic.get(0) == 0 end)
step("repaired: " .. actions[1].title)

find("connected:send")
local hover = request("textDocument/hover", vim.lsp.util.make_position_params())
step("hover: " .. hover.contents.value:match("Shortest way here: [^\n]*"))

vim.lsp.buf.rename("online")
wait("renamed state", function() return text():find("online:send", 1, true) end)
if text():find("connected", 1, true) then fail("the old name is left: " .. text()) end
step("renamed")

local row = find("quit %-> !")
vim.api.nvim_buf_set_lines(0, row, row, false, { "        " })
vim.api.nvim_win_set_cursor(0, { row + 1, 8 })
local proposals = request("textDocument/completion", vim.lsp.util.make_position_params())
local labels = {}
for _, item in ipairs(proposals.items) do labels[item.label] = item end
if not labels.invalid then fail("`invalid` is not proposed: " .. vim.inspect(proposals)) end
vim.lsp.util.apply_text_edits({ labels.invalid.textEdit }, 0, "utf-16")
step("completed: " .. lines()[row + 1])
vim.api.nvim_buf_set_lines(0, row, row + 1, false, { "  invalid->online," })

local definition = request("textDocument/definition", (function()
  vim.api.nvim_win_set_cursor(0, { row + 1, 12 })
  return vim.lsp.util.make_position_params()
end)())
step("defined in line " .. definition.range.start.line + 1)

local edits = request("textDocument/formatting", vim.lsp.util.make_formatting_params())
vim.lsp.util.apply_text_edits(edits, 0, "utf-16")
step("formatted: " .. lines()[row + 1])

local lens = request("textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() })
step("lenses: " .. #lens)

-- What another file declares is imported.
vim.fn.writefile({ "type money = u64;" }, folder .. "/types.proto")
vim.lsp.buf_notify(0, "workspace/didChangeWatchedFiles", { changes = { { uri = vim.uri_from_fname(folder .. "/types.proto"), type = 1 } } })
local declared = find("^type money")
vim.api.nvim_buf_set_lines(0, declared - 1, declared + 1, false, {})
wait("finding", function() return #vim.diagnostic.get(0) > 0 end)
find("money%)")
local fix = vim.lsp.util.make_range_params()
fix.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(0), only = { "quickfix" } }
local fixes = request("textDocument/codeAction", fix)
vim.lsp.util.apply_workspace_edit(fixes[1].edit, "utf-16")
wait("end of the finding", function() return #vim.diagnostic.get(0) == 0 end)
step(fixes[1].title)

local links = request("textDocument/documentLink", { textDocument = vim.lsp.util.make_text_document_params() })
step("link to " .. vim.fn.fnamemodify(vim.uri_to_fname(links[1].target), ":t"))
find("amount: money")
local places = request("textDocument/typeDefinition", vim.lsp.util.make_position_params())
step("type in " .. vim.fn.fnamemodify(vim.uri_to_fname(places[1].uri), ":t"))
local symbols = request("workspace/symbol", { query = "insufficient" })
step("symbol " .. symbols[1].containerName .. "/" .. symbols[1].name)

-- The quickfix list has the states from which messages lead to this one.
find("online:send")
vim.lsp.buf.incoming_calls()
wait("list of states", function() return #vim.fn.getqflist() > 0 end)
local states = {}
for _, entry in ipairs(vim.fn.getqflist()) do table.insert(states, entry.text) end
step("into online: " .. table.concat(states, " "))
vim.cmd("cclose")

local lazy = find("online:send")
local there = vim.api.nvim_buf_get_lines(0, lazy, lazy + 1, false)[1]
vim.api.nvim_buf_set_lines(0, lazy, lazy + 1, false, { "  online:send{" })
vim.lsp.buf.range_formatting({}, { lazy + 1, 0 }, { lazy + 2, 0 })
wait("formatted range", function() return vim.api.nvim_buf_get_lines(0, lazy, lazy + 1, false)[1] == there end)
step("formatted a range")
vim.lsp.stop_client(client)
vim.cmd("qall!")

-- For Neovim: `lua/duologue.lua` colors a buffer by tree-sitter. The arguments are in global variables: `folder`, this repository; `runtime`, a
-- folder with `parser/duologue.so`; `report`, where the answer goes. With a program in `server` and a protocol file with a mistake in `file`, it
-- also starts the language server.

vim.o.runtimepath = vim.g.folder .. '/tools/editors/nvim,' .. vim.g.runtime .. ',' .. vim.o.runtimepath
vim.o.hidden = true
vim.cmd('filetype plugin on')
vim.cmd('syntax on')

local report = {}
local function say(text)
  table.insert(report, text)
end

local duologue = require('duologue')
duologue.setup({ cmd = vim.g.server and { vim.g.server, 'lsp' } or false })

vim.cmd('edit ' .. vim.g.folder .. '/tools/editors/vscode/test/everything.duo')
local buffer = vim.api.nvim_get_current_buf()
say('tree-sitter ' .. tostring(vim.treesitter.highlighter.active[buffer] ~= nil))
local tree = vim.treesitter.get_parser(buffer, 'duologue'):parse()[1]
say('error ' .. tostring(tree:root():has_error()))
local get = vim.treesitter.query and vim.treesitter.query.get
  or require('vim.treesitter.query').get_query
for _, name in ipairs({ 'highlights', 'folds', 'locals', 'indents' }) do
  local count = 0
  for _ in get('duologue', name):iter_captures(tree:root(), buffer, 0, -1) do
    count = count + 1
  end
  say(name .. ' ' .. tostring(count > 10))
end

-- The language server reports the mistake.
if vim.g.server then
  vim.cmd('edit ' .. vim.g.file)
  local found = {}
  local done = vim.wait(20000, function()
    found = vim.diagnostic.get(0)
    return #found > 0
  end, 20)
  say('diagnostic ' .. tostring(done) .. ' ' .. (found[1] and found[1].message:match('[^\n]*') or ''))
  -- A second file of the folder is served by the same server.
  vim.cmd('edit ' .. vim.g.file .. '.duo')
  vim.wait(1000, function() return false end, 100)
  say('servers ' .. tostring(#vim.lsp.get_active_clients()))
  for _, client in pairs(vim.lsp.get_active_clients()) do
    client.stop(true)
  end
end

vim.fn.writefile(report, vim.g.report)
vim.cmd('qall!')

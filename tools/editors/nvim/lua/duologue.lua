-- Neovim's side of Duologue: the language server and, where a parser is installed, tree-sitter. Neovim 0.7 and later.

local M = {}

-- The folder `tools/editors/nvim`, in which this file is.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')

local options = {
  -- The command of the language server; false for none.
  cmd = { 'duologue', 'lsp' },
  -- Where the queries for tree-sitter are.
  queries = here .. '/../tree-sitter-duologue/queries',
  -- Called with the client and the buffer, for mappings.
  on_attach = nil,
}

local clients = {}

-- The folder whose files belong together: that of the configuration or of the repository.
local function root(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  for _, name in ipairs({ 'duologue.toml', '.git' }) do
    for _, find in ipairs({ vim.fn.findfile, vim.fn.finddir }) do
      local found = find(name, folder .. ';')
      if found ~= '' then
        return vim.fn.fnamemodify(found, ':p'):gsub('/+$', ''):match('^(.*)/[^/]*$')
      end
    end
  end
  return folder
end

-- Starts the language server for a buffer, or gives it the one of its folder.
function M.start(buffer)
  if not options.cmd or vim.fn.executable(options.cmd[1]) == 0 then
    return
  end
  local config = {
    name = 'duologue',
    cmd = options.cmd,
    root_dir = root(buffer),
    on_attach = options.on_attach,
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  -- Neovim 0.7 does not look for a client that is already running.
  local client = clients[config.root_dir]
  if not client or vim.lsp.client_is_stopped(client) then
    client = vim.lsp.start_client(config)
    clients[config.root_dir] = client
  end
  if client then
    vim.lsp.buf_attach_client(buffer, client)
  end
end

local function read(path)
  local file = io.open(path)
  local text = file and file:read('*a')
  if file then
    file:close()
  end
  return text
end

-- Colors a buffer by tree-sitter if `parser/duologue.so` is in the runtime path. Otherwise `syntax/duologue.vim` does. Returns whether it does.
function M.highlight(buffer)
  local parser = vim.api.nvim_get_runtime_file('parser/duologue.so', false)[1]
  local query = read(options.queries .. '/highlights.scm')
  if not parser or not query then
    return false
  end
  if vim.treesitter.language and vim.treesitter.language.add then
    vim.treesitter.language.add('duologue', { path = parser })
  else
    vim.treesitter.require_language('duologue', parser)
  end
  for _, name in ipairs({ 'highlights', 'folds', 'locals', 'indents' }) do
    local text = read(options.queries .. '/' .. name .. '.scm')
    local set = vim.treesitter.query and vim.treesitter.query.set
      or require('vim.treesitter.query').set_query
    if text then
      set('duologue', name, text)
    end
  end
  if vim.treesitter.start then
    vim.treesitter.start(buffer, 'duologue')
  else
    local tree = vim.treesitter.get_parser(buffer, 'duologue')
    vim.treesitter.highlighter.new(tree, {})
  end
  return true
end

-- Sets options. Buffers of the file type use them from now on.
function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  local group = vim.api.nvim_create_augroup('duologue', { clear = true })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = 'duologue',
    callback = function(event)
      M.highlight(event.buf)
      M.start(event.buf)
    end,
  })
end

return M

-- What a user of Neovim does with a file: open it, look at its diagnostics, rest on a name, take the preferred
-- quick fixes, save. What was seen goes to $REPORT as JSON.
local python, report = vim.env.PYTHON, vim.env.REPORT
local seen = { version = vim.version().major .. '.' .. vim.version().minor }
local SECONDS = 60 * 1000

local config = { name = 'trl-lint', cmd = { python, '-m', 'trl_lint', 'server' }, root_dir = vim.fn.getcwd() }
if vim.lsp.start then
  vim.lsp.start(config)
else -- before Neovim 0.8
  vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
end

local tick -- of the text that the last diagnostics are about
vim.api.nvim_create_autocmd('DiagnosticChanged', {
  callback = function() tick = vim.api.nvim_buf_get_changedtick(0) end,
})

local function diagnostics()
  assert(vim.wait(SECONDS, function() return tick == vim.api.nvim_buf_get_changedtick(0) end, 10), 'no diagnostics')
  return vim.diagnostic.get(0)
end

local function place(cursor) vim.api.nvim_win_set_cursor(0, cursor) end

-- The action that is offered and preferred at the cursor, as `vim.lsp.buf.code_action` and a choice from its menu take.
local function take_preferred()
  local taken
  vim.ui.select = function(items, _, on_choice)
    for _, item in ipairs(items) do
      local action = item.action or item[2]
      if action.isPreferred then
        taken = action.title
        return on_choice(item)
      end
    end
    taken = false
  end
  vim.lsp.buf.code_action()
  vim.wait(SECONDS, function() return taken ~= nil end, 10)
  return taken
end

local ok, problem = pcall(function()
  seen.diagnostics = {}
  for _, each in ipairs(diagnostics()) do
    table.insert(seen.diagnostics, { each.lnum + 1, each.col + 1, each.end_col + 1, each.code, each.source })
  end
  local words = vim.split(vim.env.HOVER, ' ')
  place({ tonumber(words[1]), tonumber(words[2]) })
  local asked = vim.lsp.util.make_position_params(0, 'utf-16')
  for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/hover', asked, SECONDS)) do
    seen.hover = answer.result.contents.value
  end
  seen.taken = {}
  for _ = 1, 10 do
    local taken
    for _, each in ipairs(diagnostics()) do
      place({ each.lnum + 1, each.col })
      local before = vim.api.nvim_buf_get_changedtick(0)
      taken = take_preferred()
      if taken then
        vim.wait(SECONDS, function() return vim.api.nvim_buf_get_changedtick(0) ~= before end, 10)
        table.insert(seen.taken, taken)
        break
      end
    end
    if not taken then break end
  end
  vim.cmd('write')
end)
seen.problem = not ok and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(seen) }, report)
vim.cmd('qall!')

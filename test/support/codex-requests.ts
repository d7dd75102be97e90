/**
 * Requests of the Codex command line 0.169.0, member by member, as recorded: its own prompts and descriptions
 * are replaced by our texts. The package is 400 MB, so the program itself runs only where `CODEX` names it.
 */
const conversation = '01a208a4-9589-7ba0-aa1c-2d4f5184a552';

const parameters = {
  type: 'object',
  properties: { cmd: { type: 'string', description: 'Shell command to execute.' } },
  required: ['cmd'],
  additionalProperties: false,
};

const tool = (name: string) => ({
  type: 'function',
  name,
  description: `Does ${name}.`,
  strict: false,
  parameters,
});

const message = (role: string, text: string, n: number) => ({
  type: 'message',
  id: `msg_01a208a4-9689-7130-bfe2-0fc17315fd${n}c`,
  role,
  content: [{ type: 'input_text', text }],
});

export const codexHeaders = {
  'x-codex-beta-features': 'remote_compaction_v2',
  'x-codex-window-id': `${conversation}:0`,
  'x-client-request-id': conversation,
  'session-id': conversation,
  accept: 'text/event-stream',
  originator: 'codex_exec',
  'user-agent': 'codex_exec/0.169.0',
};

export interface CodexCall {
  id: string;
  call_id: string;
  name: string;
  arguments: string;
}

/** The first request of a turn or, with the call and its command's output, the next one. */
export function codexRequest(model: string, did?: { call: CodexCall; output: string }): object {
  return {
    model,
    input: [
      message('developer', 'You work in a terminal.', 0),
      message('developer', '<skills_instructions>none</skills_instructions>', 1),
      message('user', '<environment_context><shell>bash</shell></environment_context>', 2),
      message('user', 'What does the mark say?', 3),
      ...(did === undefined
        ? []
        : [
            { type: 'function_call', status: 'completed', ...did.call },
            {
              type: 'function_call_output',
              id: 'fco_01a208a4-9b4e-7b31-8207-1a13a7726cc3',
              call_id: did.call.call_id,
              output: did.output,
            },
          ]),
    ],
    tools: [
      tool('exec_command'),
      tool('write_stdin'),
      tool('view_image'),
      { type: 'namespace', name: 'multi_agent_v1', description: 'Agents.', tools: [tool('spawn_agent')] },
      { type: 'web_search', external_web_access: false },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: conversation,
    client_metadata: { session_id: conversation, 'x-codex-turn-metadata': '{"turn_trigger":"exec"}' },
  };
}

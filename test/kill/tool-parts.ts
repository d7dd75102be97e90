import type { Json } from '../support/stream-events.ts';
import { prose, type Part } from './scripts.ts';

export const toolSlug = 'ledger';

/** Tools of the run's own server. The first and the last are declared repeatable. */
export type ToolName = 'keyed_add' | 'unkeyed_add' | 'repeatable_set';

export const repeatableTools: readonly ToolName[] = ['keyed_add', 'repeatable_set'];

/** The duration of a call before its effect, so that kills hit it there. */
export const toolDelayMs = 450;

const call = (name: ToolName, item: string) => ({
  name: `mcp__${toolSlug}__${name}`,
  arguments: { item },
});

/** Scripts that change the world, alone and several at once. */
export const toolParts: readonly Part[] = [
  {
    continuation: 'prefill',
    script: {
      name: 'keyed',
      manner: 'honours_prefix',
      tokenDelayMs: 18,
      calls: [[call('keyed_add', 'rope')], [call('keyed_add', 'tar')]],
      commentary: prose('before keyed', 2),
      text: prose('keyed', 8),
    },
  },
  {
    continuation: 'instruct',
    script: {
      name: 'unkeyed',
      manner: 'overlaps',
      tokenDelayMs: 18,
      calls: [[call('unkeyed_add', 'a lamp')], [call('unkeyed_add', 'a buoy')]],
      text: prose('unkeyed', 8),
    },
  },
  {
    continuation: 'instruct',
    script: {
      name: 'mixed',
      manner: 'restarts',
      tokenDelayMs: 18,
      calls: [
        [call('unkeyed_add', 'oil'), call('keyed_add', 'wick'), call('repeatable_set', 'flame')],
        [call('repeatable_set', 'ashes')],
      ],
      text: prose('mixed', 8),
    },
  },
];

/** The expected item of a scripted call; `actual` only decides whether an unkeyed one is unknown. */
export function expectedCall(
  scripted: { name: string; arguments: object | string },
  actual: Json | undefined,
): Json {
  const tool = scripted.name.split('__')[2] as ToolName;
  const { item } = scripted.arguments as { item: string };
  const isUnknown = !repeatableTools.includes(tool) && actual?.['status'] === 'failed';
  return {
    type: 'mcp_call',
    status: isUnknown ? 'failed' : 'completed',
    server_label: toolSlug,
    name: tool,
    arguments: JSON.stringify(scripted.arguments),
    output: isUnknown ? null : `added ${item}`,
    error: isUnknown ? unknownError : null,
    approval_request_id: null,
  };
}

const unknownText =
  'tool_outcome_unknown: the call was sent and its outcome is not known. It may have taken effect. ' +
  'It was not made again.';

const unknownError = {
  type: 'mcp_tool_execution_error',
  code: 'tool_outcome_unknown',
  message: unknownText,
  content: [{ type: 'text', text: unknownText }],
};

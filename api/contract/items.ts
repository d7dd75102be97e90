import { z } from 'zod';

/** Output and input items, field by field as on the wire. */

const fileCitation = z.strictObject({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string(),
  index: z.int(),
  start_index: z.int(),
  end_index: z.int(),
  page: z.int().optional(),
  anchor: z.string().optional(),
});

const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(fileCitation),
  logprobs: z.tuple([]),
});

const outputMessage = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  role: z.literal('assistant'),
  phase: z.enum(['commentary', 'final_answer']).optional(),
  content: z.array(outputText),
  platform: z.strictObject({ superseded_by: z.string() }).optional(),
});

const searchResult = z.strictObject({
  file_id: z.string(),
  filename: z.string(),
  score: z.number(),
  text: z.string(),
  page: z.int().optional(),
  anchor: z.string().optional(),
  attributes: z.record(z.string(), z.string()),
});

const fileSearchCall = z.strictObject({
  id: z.string(),
  type: z.literal('file_search_call'),
  status: z.enum(['in_progress', 'completed', 'failed', 'incomplete']),
  queries: z.array(z.string()),
  results: z.array(searchResult).nullable(),
});

const functionCall = z.strictObject({
  id: z.string(),
  type: z.literal('function_call'),
  status: z.enum(['in_progress', 'completed']),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});

const mcpCallError = z.union([
  z.strictObject({
    type: z.enum(['mcp_protocol_error', 'http_error']),
    code: z.int(),
    message: z.string(),
  }),
  z.strictObject({
    type: z.literal('mcp_tool_execution_error'),
    code: z.enum([
      'tool_failed',
      'tool_outcome_unknown',
      'tool_withheld',
      'missing_permission',
      'authorization_required',
    ]),
    message: z.string(),
    content: z.array(z.strictObject({ type: z.literal('text'), text: z.string() })),
    elicitation: z
      .strictObject({
        mode: z.literal('url'),
        elicitation_id: z.string(),
        url: z.string(),
        message: z.string(),
      })
      .optional(),
  }),
]);

const mcpCall = z.strictObject({
  id: z.string(),
  type: z.literal('mcp_call'),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  server_label: z.string(),
  name: z.string(),
  arguments: z.string(),
  output: z.string().nullable(),
  error: mcpCallError.nullable(),
  approval_request_id: z.string().nullable(),
});

const mcpApprovalRequest = z.strictObject({
  id: z.string(),
  type: z.literal('mcp_approval_request'),
  status: z.enum(['in_progress', 'completed']),
  server_label: z.string(),
  name: z.string(),
  arguments: z.string(),
});

const mcpListTools = z.strictObject({
  id: z.string(),
  type: z.literal('mcp_list_tools'),
  status: z.enum(['in_progress', 'completed']),
  server_label: z.string(),
  tools: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      input_schema: z.record(z.string(), z.unknown()),
    }),
  ),
});

const reasoning = z.strictObject({
  id: z.string(),
  type: z.literal('reasoning'),
  status: z.enum(['in_progress', 'completed']),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
});

export const outputItem = z
  .discriminatedUnion('type', [
    reasoning,
    outputMessage,
    fileSearchCall,
    functionCall,
    mcpCall,
    mcpApprovalRequest,
    mcpListTools,
  ])
  .meta({ id: 'OutputItem' });

const inputMessage = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  status: z.literal('completed'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['input_text', 'output_text']), text: z.string() }),
      z.strictObject({
        type: z.literal('input_image'),
        image_url: z.string(),
        detail: z.enum(['auto', 'low', 'high']),
      }),
      z.strictObject({ type: z.literal('input_file'), filename: z.string(), file_data: z.string() }),
    ]),
  ),
});

const functionCallOutput = z.strictObject({
  id: z.string(),
  type: z.literal('function_call_output'),
  status: z.literal('completed'),
  call_id: z.string(),
  output: z.string(),
});

const mcpApprovalResponse = z.strictObject({
  id: z.string(),
  type: z.literal('mcp_approval_response'),
  status: z.literal('completed'),
  approval_request_id: z.string(),
  approve: z.boolean(),
  reason: z.string().nullable(),
});

export const inputItem = z
  .union([outputItem, inputMessage, functionCallOutput, mcpApprovalResponse])
  .meta({ id: 'InputItem' });

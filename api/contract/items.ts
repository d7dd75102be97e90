import { z } from 'zod';

/** Output and input items, field by field as they stand on the wire. */

const fileCitation = z.strictObject({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string(),
  index: z.int(),
  start_index: z.int(),
  end_index: z.int(),
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
  status: z.literal('completed'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});

const mcpCall = z.strictObject({
  id: z.string(),
  type: z.literal('mcp_call'),
  status: z.literal('failed'),
  server_label: z.string(),
  name: z.string(),
  arguments: z.string(),
  output: z.null(),
  error: z.strictObject({ type: z.literal('mcp_protocol_error'), code: z.int(), message: z.string() }),
  approval_request_id: z.null(),
});

const reasoning = z.strictObject({
  id: z.string(),
  type: z.literal('reasoning'),
  status: z.enum(['in_progress', 'completed']),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
});

export const outputItem = z
  .discriminatedUnion('type', [reasoning, outputMessage, fileSearchCall, functionCall, mcpCall])
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

export const inputItem = z.union([outputItem, inputMessage]).meta({ id: 'InputItem' });

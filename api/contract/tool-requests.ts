import { z } from 'zod';
import { functionName } from './common.ts';

/** Tool settings of a request for a response. */

const name = z.string().min(1).max(128);
const callId = z.string().min(1).max(100);
const longText = z.string().max(1_000_000);

/** Fields of other platforms: tool servers chosen by the caller. */
const elsewhere = {
  server_url: z.unknown().optional(),
  authorization: z.unknown().optional(),
  headers: z.unknown().optional(),
  connector_id: z.unknown().optional(),
};

const toolNames = z.array(name).max(128);
const named = z.strictObject({ tool_names: toolNames.optional() });

export const offeredTools = [
  z.strictObject({
    type: z.literal('function'),
    name: functionName,
    description: z.string().max(16_384).nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
  z.strictObject({
    type: z.literal('mcp'),
    server_label: name,
    allowed_tools: z.union([toolNames, named]).nullish(),
    require_approval: z
      .union([
        z.enum(['always', 'never']),
        z.strictObject({ always: named.optional(), never: named.optional() }),
      ])
      .nullish(),
    ...elsewhere,
  }),
] as const;

export type OfferedTool = z.infer<(typeof offeredTools)[number]>;

export const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.strictObject({ type: z.enum(['knowledge_search', 'file_search']) }),
  z.strictObject({ type: z.literal('function'), name }),
  z.strictObject({ type: z.literal('mcp'), server_label: name, name: name.nullish() }),
  z.strictObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z
      .array(z.strictObject({ type: z.string(), name: name.optional(), server_label: name.optional() }))
      .min(1)
      .max(128),
  }),
]);

export type ToolChoice = z.infer<typeof toolChoice>;

const ours = { id: z.string().max(100).optional(), status: z.string().max(20).optional() };

export const toolInputItems = [
  z.strictObject({
    type: z.literal('function_call'),
    call_id: callId,
    name,
    arguments: longText,
    ...ours,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: callId,
    output: z.union([
      longText,
      z
        .array(z.strictObject({ type: z.enum(['input_text', 'output_text']), text: longText }))
        .min(1)
        .max(256),
    ]),
    ...ours,
  }),
  z.strictObject({
    type: z.literal('mcp_approval_response'),
    approval_request_id: z.string().min(1).max(100),
    approve: z.boolean(),
    reason: z.string().max(2_000).nullish(),
    ...ours,
  }),
] as const;

export type ToolInputItem = z.infer<(typeof toolInputItems)[number]>;

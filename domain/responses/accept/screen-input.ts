import type { Context } from '#domain/foundation/access/context.ts';
import { unsupported } from '#domain/foundation/kernel/errors.ts';
import { mapTextFile } from '#domain/foundation/kernel/text-file.ts';
import type { CreateResponseInput, InputItem, RequestedTool } from '#domain/responses/record/create-input.ts';
import type { InputContent } from '#domain/responses/record/output-items.ts';
import type { Space } from '#domain/workspace/spaces/space.entity.ts';
import { withNames, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { readMapping, type KnownEntry } from '#domain/governance/redaction/pii-mapping.ts';
import {
  demandOf,
  type Holder,
  type PiiSettings,
  type Redaction,
} from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry, Redactor } from '#domain/governance/redaction/redact.ts';
import { rejectBlockedContent } from '#domain/governance/redaction/reject-blocked-content.ts';

/** A request that may be stored and sent to a model. */
export interface ScreenedInput {
  input: CreateResponseInput;
  /** null: the space does not require screening, and nothing was screened. */
  redaction: Redaction | null;
  /** Personal data found in this request. */
  found: PiiEntry[];
  /** The mapping of the conversation so far, as far as the response must store it itself. */
  inherited: KnownEntry[];
}

/**
 * Replaces personal data in a request before anything of it is stored.
 * @throws `content_blocked`; `unsupported_parameter` for files that cannot be read; `NamesNeeded` if a recogniser
 * service must be called first, which is never done inside a transaction
 */
export async function screenInput(
  ctx: Context,
  input: CreateResponseInput,
  place: { space: Space; responseId: string; names: FoundNames | null },
): Promise<ScreenedInput> {
  const demand = demandOf(place.space.policy);
  if (demand === null) {
    return { input, redaction: null, found: [], inherited: [] };
  }
  const { redaction, inherited } = await resolveRedaction(ctx, input, {
    demand,
    responseId: place.responseId,
  });
  const { redactor, result } = withNames(
    { ...redaction, secrets: ctx.secrets, tokens: 'foreign' },
    place.names,
    (redactor) => screen(input, redactor),
  );
  rejectBlockedContent(demand, redactor.entries, place.space.id);
  return { input: result, redaction, found: redactor.entries, inherited };
}

async function resolveRedaction(
  ctx: Context,
  { previousResponseId, thread }: CreateResponseInput,
  { demand, responseId }: { demand: PiiSettings; responseId: string },
): Promise<{ redaction: Redaction; inherited: KnownEntry[] }> {
  const own: Holder = thread == null ? { responseId } : { threadId: thread.threadId };
  const parent = previousResponseId === null ? null : await redactionOf(ctx, previousResponseId);
  const scope = thread?.threadId ?? parent?.scope ?? responseId;
  const from = parent?.holders[0];
  const isOwn = JSON.stringify(from) === JSON.stringify(own);
  if (parent === null || from === undefined || isOwn) {
    return { redaction: { ...demand, scope, holders: [own] }, inherited: [] };
  }
  // The parent may expire long before its child, and may find more while it runs.
  const mapping = await readMapping(ctx, ctx.caller.tenantId, parent.holders);
  return { redaction: { ...demand, scope, holders: [own, from] }, inherited: [...mapping.values()] };
}

async function redactionOf(ctx: Context, responseId: string): Promise<Redaction | null> {
  const [row] = await ctx.em.execute<{ redaction: Redaction | null }[]>(
    `select request -> 'redaction' as redaction from responses
       where id = ? and space_id = ? and expires_at > now()`,
    [responseId, ctx.caller.spaceId],
  );
  return row?.redaction ?? null;
}

function screen(input: CreateResponseInput, redactor: Redactor): CreateResponseInput {
  const { instructions, tools, format } = input;
  return {
    ...input,
    input: input.input.map((item) => screenItem(item, redactor)),
    instructions: instructions === null ? null : redactor.text(instructions),
    tools: tools?.map((tool) => screenTool(tool, redactor)) ?? null,
    format: format.type === 'json_schema' ? { ...format, schema: redactor.value(format.schema) } : format,
  };
}

function screenTool(tool: RequestedTool, redactor: Redactor): RequestedTool {
  return tool.type === 'function'
    ? {
        ...tool,
        description: redactor.text(tool.description),
        parameters: redactor.value(tool.parameters),
      }
    : tool;
}

function screenItem(item: InputItem, redactor: Redactor): InputItem {
  switch (item.type) {
    case 'message': {
      const content = item.content?.map((part) => screenPart(part, redactor));
      const text =
        content?.flatMap((part) => ('text' in part ? [part.text] : [])).join('') ?? redactor.text(item.text);
      return { ...item, text, ...(content === undefined ? {} : { content }) };
    }
    case 'reasoning':
      return {
        ...item,
        summary: item.summary.map((part) => ({ ...part, text: redactor.text(part.text) })),
      };
    case 'function_call':
      return { ...item, arguments: redactor.maybeJson(item.arguments) };
    case 'function_call_output':
      return { ...item, output: redactor.maybeJson(item.output) };
    case 'mcp_approval_response':
      return { ...item, reason: item.reason === null ? null : redactor.text(item.reason) };
    case 'item_reference':
      return item;
  }
}

function screenPart(part: InputContent, redactor: Redactor): InputContent {
  if ('text' in part) {
    return { ...part, text: redactor.text(part.text) };
  }
  const data = part.type === 'input_file' ? mapTextFile(part.file_data, (text) => redactor.text(text)) : null;
  if (part.type !== 'input_file' || data === null) {
    throw unsupported(
      'input',
      'This space screens personal data: only texts can be sent, no images or PDF files.',
    );
  }
  return { ...part, filename: redactor.text(part.filename), file_data: data };
}

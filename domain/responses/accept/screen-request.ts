import type { Context } from '#domain/foundation/access/context.ts';
import type { OfferedTool, ResponseRequest } from '#domain/responses/record/response-request.ts';
import { withNames, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { formKinds } from '#domain/governance/recognition/pii-kinds.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry, Redactor } from '#domain/governance/redaction/redact.ts';

/**
 * Replaces personal data in what a settled request holds besides its caller's input: definitions of tools, and calls
 * that were asked for before the space demanded anything. In definitions, which somebody has approved, no service is
 * asked for names: of all that a space has connected that would be hundreds of texts for each response.
 * @returns the request, and what was found
 * @throws `NamesNeeded` when the recogniser service has to be asked about approved calls, `RedactionNeeded`
 */
export function screenRequest(
  ctx: Context,
  request: ResponseRequest,
  { redaction, names }: { redaction: Redaction; names: FoundNames | null },
): { request: ResponseRequest; found: PiiEntry[] } {
  const options = { ...redaction, secrets: ctx.secrets, tokens: 'mine' as const };
  const kinds = formKinds.filter((kind) => redaction.kinds.includes(kind));
  const { tools, format, approved_calls: approved } = request;
  const defined = withNames({ ...options, kinds }, names, (redactor) => ({
    tools: tools.map((tool) => screenOffer(tool, redactor)),
    format: format.type === 'json_schema' ? { ...format, schema: redactor.value(format.schema) } : format,
  }));
  const called = withNames(options, names, (redactor) =>
    approved.map((call) => ({ ...call, arguments: redactor.maybeJson(call.arguments) })),
  );
  return {
    request: { ...request, ...defined.result, approved_calls: called.result },
    // What a definition says is the same for each response, and nothing that somebody brought.
    found: [...defined.redactor.entries.map((entry) => ({ ...entry, count: 0 })), ...called.redactor.entries],
  };
}

/** Names stay: of tools, and of the members of what they are called with. */
export function screenOffer<T extends OfferedTool>(tool: T, redactor: Redactor): T {
  return !('parameters' in tool)
    ? tool
    : { ...tool, description: redactor.text(tool.description), parameters: redactor.value(tool.parameters) };
}

import type { Context } from '#domain/foundation/access/context.ts';
import type { OfferedTool, ResponseRequest } from '#domain/responses/record/response-request.ts';
import { withNames, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { formKinds } from '#domain/governance/recognition/pii-kinds.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry, Redactor } from '#domain/governance/redaction/redact.ts';

/**
 * Replaces personal data in the parts of a resolved request other than the input: definitions of tools, and calls
 * that were requested before the space required redaction. Definitions were approved by a person and are not sent to
 * the recogniser service: a space with many connected tools would cause hundreds of texts per response.
 * @returns the request, and the entries that were found
 * @throws `NamesNeeded` if the recogniser service must be called for approved calls, `RedactionNeeded`
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
    // Entries of a definition are the same for each response, and no person is their source.
    found: [...defined.redactor.entries.map((entry) => ({ ...entry, count: 0 })), ...called.redactor.entries],
  };
}

/** Keeps the names of tools and of the members of their arguments. */
export function screenOffer<T extends OfferedTool>(tool: T, redactor: Redactor): T {
  return !('parameters' in tool)
    ? tool
    : { ...tool, description: redactor.text(tool.description), parameters: redactor.value(tool.parameters) };
}

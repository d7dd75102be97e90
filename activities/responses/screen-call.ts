import { readMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { restoreJsonText } from '#domain/governance/redaction/restore.ts';
import { mayHoldTokens } from '#domain/governance/redaction/pii-tokens.ts';
import type { PiiEntry, Redactor } from '#domain/governance/redaction/redact.ts';
import { withoutHidden } from '#domain/foundation/kernel/hidden-text.ts';
import type { KnowledgeReply } from '#domain/knowledge/search/knowledge-tool.ts';
import type { ClaimedCall } from '#domain/responses/calls/claim-call.ts';
import type { TurnOutcome } from '#domain/responses/turn/commit-turn.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { screen, type ScreeningDependencies } from './screening.ts';

/**
 * The calls of a turn in the form that may be stored, shown and executed: personal data that the model itself wrote
 * becomes a token too. Runs before the turn is committed, so every attempt at a call sends the arguments of the
 * ledger.
 */
export async function screenCalls(
  deps: ScreeningDependencies,
  turn: ClaimedTurn,
  outcome: TurnOutcome,
): Promise<TurnOutcome> {
  const { redaction } = turn.settings;
  if (redaction === undefined || outcome.calls.length === 0) {
    return outcome;
  }
  const calls = await screen(deps, { ...turn, redaction }, (redactor) =>
    outcome.calls.map((call) => ({ ...call, arguments: redactor.maybeJson(call.arguments) })),
  );
  return { ...outcome, calls };
}

/** A call's arguments for its tool: with values where the space allows that, else with tokens. */
export async function restoreArguments(deps: ScreeningDependencies, call: ClaimedCall): Promise<ClaimedCall> {
  const { redaction } = call;
  const restores =
    call.target.kind === 'search' ||
    (call.serverLabel !== null && redaction?.restore_in_tool_arguments.includes(call.serverLabel) === true);
  if (redaction === undefined || !restores || !mayHoldTokens(call.arguments)) {
    return call;
  }
  const { tenantId } = call;
  const mapping = await deps.unitOfWork.inTenant(tenantId, (em) =>
    readMapping({ em, secrets: deps.secrets }, tenantId, redaction.holders),
  );
  // A search takes text, also for values that were numbers where they were found.
  const values = call.target.kind === 'search' ? asStrings(mapping) : mapping;
  return { ...call, arguments: restoreJsonText(call.arguments, values) };
}

function asStrings(mapping: ReadonlyMap<string, PiiEntry>): ReadonlyMap<string, PiiEntry> {
  return new Map([...mapping].map(([token, { bare: _number, ...entry }]) => [token, entry]));
}

/** The result of a tool server's call, in the form that may be stored and sent to the model. */
export async function screenResult(
  deps: ScreeningDependencies,
  call: ClaimedCall,
  answered: string,
): Promise<string> {
  // Hidden characters are removed first: they would also hide personal data from the recognisers.
  const { text } = withoutHidden(answered);
  const { redaction } = call;
  return redaction === undefined
    ? text
    : screen(deps, { ...call, redaction }, (redactor) => redactor.maybeJson(text)).catch(() => unscreened);
}

/** The tool has run, and is not called again because its result cannot be screened. */
const unscreened = 'The result was withheld: it could not be screened for personal data.';

interface RenderedResults {
  results?: { heading: string | null; filename: string; anchor?: string; text: string }[];
}

/** Screens names, headings and passages of documents, and none of the platform's own ids. */
export async function screenKnowledge(
  deps: ScreeningDependencies,
  call: ClaimedCall,
  reply: KnowledgeReply,
): Promise<KnowledgeReply> {
  const { redaction } = call;
  if (redaction === undefined || reply.failed) {
    return reply;
  }
  return screen(deps, { ...call, redaction }, (redactor) => ({
    ...reply,
    text: screenRendered(reply.text, redactor),
    results:
      reply.results?.map((result) => ({
        ...result,
        filename: redactor.text(result.filename),
        ...(result.anchor === undefined ? {} : { anchor: redactor.text(result.anchor) }),
        text: redactor.text(result.text),
        attributes: redactor.value(result.attributes),
      })) ?? null,
  }));
}

function screenRendered(text: string, redactor: Redactor): string {
  const rendered = JSON.parse(text) as RenderedResults;
  const results = rendered.results?.map((result) => ({
    ...result,
    filename: redactor.text(result.filename),
    heading: result.heading === null ? null : redactor.text(result.heading),
    ...(result.anchor === undefined ? {} : { anchor: redactor.text(result.anchor) }),
    text: redactor.text(result.text),
  }));
  return JSON.stringify({ ...rendered, ...(results === undefined ? {} : { results }) });
}

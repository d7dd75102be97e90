import type { Context } from '#domain/foundation/access/context.ts';
import { withNames, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { demandOf } from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry } from '#domain/governance/redaction/redact.ts';
import { rejectBlockedContent } from '#domain/governance/redaction/reject-blocked-content.ts';
import { findSpace } from '#domain/workspace/spaces/find-space.ts';
import type { Thread } from '#domain/conversations/threads/thread.entity.ts';

/**
 * A message's text in the form in which it may be stored, with the findings. @throws `content_blocked`, `NamesNeeded`
 */
export async function screenMessage(
  ctx: Context,
  thread: Thread,
  { content, names }: { content: string; names: FoundNames | null },
): Promise<{ content: string; found: PiiEntry[] }> {
  const space = await findSpace(ctx.em, thread.spaceId);
  const demand = demandOf(space.policy);
  if (demand === null) {
    return { content, found: [] };
  }
  const options = { ...demand, secrets: ctx.secrets, scope: thread.id, tokens: 'foreign' as const };
  const { redactor, result } = withNames(options, names, (redactor) => redactor.text(content));
  rejectBlockedContent(demand, redactor.entries, space.id);
  return { content: result, found: redactor.entries };
}

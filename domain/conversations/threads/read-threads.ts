import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { readMappings } from '#domain/governance/redaction/pii-mapping.ts';
import type { PiiEntry } from '#domain/governance/redaction/redact.ts';
import { readerOf, visibleTo } from './show-restored.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findProject } from '#domain/workspace/projects/find-project.ts';
import { Project } from '#domain/workspace/projects/project.entity.ts';
import { authorizeThread } from './authorize-thread.ts';
import { findThread } from './find-thread.ts';
import { inThreads, inThreadsOf, type FoundThread } from './in-thread.ts';
import { shownThreadStatuses } from './thread-status.ts';
import { Thread } from './thread.entity.ts';

export interface ShownThread {
  thread: Thread;
  /** null: none, or a deleted one, from which the thread is about to be set free. */
  projectId: string | null;
  /** Values of its tokens; null without `threads.read_pii` there, or when there are none. */
  piiMapping: PiiEntry[] | null;
}

export interface ListThreads {
  status: (typeof shownThreadStatuses)[number] | null;
  projectId: string | null;
  limit: number;
  cursor: string | null;
}

/**
 * The space's threads, newest first: the caller's own, and all with `threads.read`, which a role in a project grants
 * for a list of that project.
 * @throws `missing_permission` for callers outside the space
 */
export async function listThreads(ctx: Context, input: ListThreads): Promise<Page<ShownThread>> {
  const { caller } = ctx;
  const { status, projectId, limit, cursor } = input;
  const there = await inThreadsOf(ctx, projectId);
  authorizeThread(there.caller, 'threads.read', caller.principalId);
  const where = {
    spaceId: spaceOf(caller),
    ...(projectId === null ? {} : { projectId: (await findProject(ctx, projectId)).id }),
    ...(there.caller.granted.has('threads.read') ? {} : { createdBy: caller.principalId }),
  };
  const page = await keysetPage(ctx, {
    entity: Thread,
    where: { ...where, status: status ?? { $in: [...shownThreadStatuses] } },
    limit,
    cursor,
    operation: 'threads.list',
    filters: { ...where, status },
    bytes: `select thread_id as id, sum(octet_length(sealed))::float8 as bytes from redactions
      where thread_id in (select jsonb_array_elements_text(?::jsonb)::uuid) group by thread_id`,
  });
  const { items } = page;
  const found = projectId === null ? await inThreads(ctx, items) : items.map((thread) => ({ thread, there }));
  return { ...page, items: await withMappings(ctx, found) };
}

/** @throws `thread_not_found`, `missing_permission` */
export async function readThread(ctx: Context, input: { threadId: string }): Promise<ShownThread> {
  return withMapping(ctx, await findThread(ctx, input.threadId, 'threads.read'));
}

export async function withMapping(ctx: Context, found: FoundThread<Context>): Promise<ShownThread> {
  const [shown = { thread: found.thread, projectId: null, piiMapping: null }] = await withMappings(ctx, [
    found,
  ]);
  return shown;
}

async function withMappings(ctx: Context, found: readonly FoundThread<Context>[]): Promise<ShownThread[]> {
  const open = found.filter(({ there }) => there.caller.granted.has('threads.read_pii'));
  const mappings = await readMappings(
    ctx,
    ctx.caller.tenantId,
    open.map(({ thread }) => ({ threadId: thread.id })),
  );
  const projects = await livingProjects(ctx, found);
  return found.map((each) => {
    const { thread } = each;
    const mapping = mappings.get(thread.id);
    const shown = mapping && visibleTo(readerOf(ctx.caller, each), { holder: thread.id, mapping });
    return {
      thread,
      projectId: thread.projectId != null && projects.has(thread.projectId) ? thread.projectId : null,
      piiMapping: shown === undefined || shown.size === 0 ? null : [...shown.values()],
    };
  });
}

async function livingProjects(
  { em }: Context,
  found: readonly FoundThread<Context>[],
): Promise<ReadonlySet<string>> {
  const ids = new Set(found.flatMap(({ thread }) => thread.projectId ?? []));
  const projects = ids.size === 0 ? [] : await em.find(Project, { id: [...ids] }, { fields: ['id'] });
  return new Set(projects.map(({ id }) => id));
}

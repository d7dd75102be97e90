import { inProject, inProjects, type Acting } from '#domain/identity/roles/in-project.ts';
import type { Thread } from './thread.entity.ts';

/** A thread with what its caller may do there. */
export interface FoundThread<C extends Acting> {
  thread: Thread;
  /**
   * The same work with what the caller's role in the thread's project adds. It answers for this thread alone: what a
   * request asks of a space, of a response or of another thread is asked without it.
   */
  there: C;
}

/** The same work with what the caller may do in the threads of a project; null: in those of none. */
export async function inThreadsOf<C extends Acting>(
  ctx: C,
  projectId: string | null | undefined,
): Promise<C> {
  return projectId == null ? ctx : inProject(ctx, projectId);
}

/** Threads of the caller's space, each with what the caller may do there. */
export async function inThreads<C extends Acting>(
  ctx: C,
  threads: readonly Thread[],
): Promise<FoundThread<C>[]> {
  const projectIds = new Set(threads.flatMap(({ projectId }) => projectId ?? []));
  const places = await inProjects(ctx, [...projectIds]);
  return threads.map((thread) => ({ thread, there: places.get(thread.projectId ?? '') ?? ctx }));
}

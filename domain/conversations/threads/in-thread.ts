import { inProject, inProjects, type Acting } from '#domain/identity/roles/in-project.ts';
import type { Thread } from './thread.entity.ts';

/** A thread with its caller's permissions there. */
export interface FoundThread<C extends Acting> {
  thread: Thread;
  /**
   * The same context with the permissions of the caller's role in the thread's project. It applies to this thread
   * alone: checks for a space, a response or another thread do not use it.
   */
  there: C;
}

/** The same context with the caller's permissions in the threads of a project; null: threads without a project. */
export async function inThreadsOf<C extends Acting>(
  ctx: C,
  projectId: string | null | undefined,
): Promise<C> {
  return projectId == null ? ctx : inProject(ctx, projectId);
}

/** Threads of the caller's space, each with the caller's permissions there. */
export async function inThreads<C extends Acting>(
  ctx: C,
  threads: readonly Thread[],
): Promise<FoundThread<C>[]> {
  const projectIds = new Set(threads.flatMap(({ projectId }) => projectId ?? []));
  const places = await inProjects(ctx, [...projectIds]);
  return threads.map((thread) => ({ thread, there: places.get(thread.projectId ?? '') ?? ctx }));
}

import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Project } from './project.entity.ts';

/** @throws `project_not_found`, also for a project of another space */
export async function findProject(ctx: Context, projectId: string, lockMode?: LockMode): Promise<Project> {
  const project = await ctx.em.findOne(
    Project,
    { id: projectId, spaceId: spaceOf(ctx.caller) },
    lockMode === undefined ? {} : { lockMode },
  );
  if (project === null) {
    throw notFound('project_not_found');
  }
  return project;
}

/** Like `findProject`, locked for a change. */
export function lockProject(ctx: Context, projectId: string): Promise<Project> {
  return findProject(ctx, projectId, LockMode.PESSIMISTIC_WRITE);
}

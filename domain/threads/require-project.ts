import type { Context } from '#domain/access/context.ts';
import { notFound } from '#domain/kernel/errors.ts';

/** A project of the caller's space. Where there are none, every id is unknown. @throws `project_not_found` */
export async function requireProject(ctx: Context, projectId: string): Promise<string> {
  const [table] = await ctx.em.execute<{ there: boolean }[]>(
    `select to_regclass('public.projects') is not null as there`,
  );
  const found =
    table?.there === true
      ? await ctx.em.execute('select from projects where id = ? and space_id = ?', [
          projectId,
          ctx.caller.spaceId,
        ])
      : [];
  if (found.length === 0) {
    throw notFound('project_not_found');
  }
  return projectId;
}

import { afterAll, beforeAll, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { inProject } from '#domain/identity/roles/in-project.ts';
import { listThreads, readThread } from '#domain/conversations/threads/read-threads.ts';
import { maxLockMs } from '#domain/operations/erasure/erasure-database.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { addProjectMember } from '#domain/workspace/projects/add-project-member.ts';
import { createProject } from '#domain/workspace/projects/create-project.ts';
import { deleteProject } from '#domain/workspace/projects/delete-project.ts';
import { listProjects, readProject } from '#domain/workspace/projects/read-projects.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { checksumWithout } from '../../../support/erasure-world.ts';
import { Purge } from '../../../support/purge.ts';
import { danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { addMember, createWorld } from '../../../support/world.ts';

let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const run = (sql: string, values: unknown[] = []) => engine.admin.query<Record<string, unknown>>(sql, values);

/** A project with a second member and threads. */
async function aProject(threads: number) {
  const { tenantId, spaceId, owner } = engine.world;
  const { project } = await engine.act((ctx) => createProject(ctx, { name: 'Pier', description: null }));
  const { principalId } = await addMember(engine.database.unitOfWork, engine.world, {
    spaceRole: 'space_viewer',
  });
  const { id: projectId } = project;
  await engine.act((ctx) =>
    addProjectMember(ctx, { projectId, principalId, roleId: builtInRoleId('project_admin') }),
  );
  await run(
    `insert into threads (tenant_id, id, space_id, project_id, created_by)
     select $1, uuidv7(), $2, $3, $4 from generate_series(1, $5)`,
    [tenantId, spaceId, projectId, owner.principalId, threads],
  );
  return { tenantId, projectId, principalId };
}

it('hides a deleted project with its roles at once; its threads name it no more', async () => {
  const { projectId, principalId } = await aProject(2);
  const isAdmin = () =>
    engine.act(async (ctx) => (await inProject(ctx, projectId)).caller.granted.has('projects.delete'), {
      principalId,
      granted: new Set(),
    });
  expect(await isAdmin()).toBe(true);
  const { rows } = await run('select id from threads where project_id = $1', [projectId]);
  await engine.act((ctx) => deleteProject(ctx, { projectId }));
  expect(await isAdmin()).toBe(false);
  await expect(engine.act((ctx) => readProject(ctx, { projectId }))).rejects.toMatchObject({
    code: 'project_not_found',
  });
  const listed = await engine.act((ctx) => listProjects(ctx, { limit: 100, cursor: null }));
  expect(listed.items.map(({ id }) => id)).not.toContain(projectId);
  const shown = await engine.act((ctx) => readThread(ctx, { threadId: String(rows[0]!['id']) }));
  expect(shown.projectId).toBeNull();
  const page = await engine.act((ctx) =>
    listThreads(ctx, { status: null, projectId: null, limit: 100, cursor: null }),
  );
  const mine = page.items.filter(({ thread }) => rows.some(({ id }) => id === thread.id));
  expect(mine.map((each) => each.projectId)).toEqual([null, null]);
  // It is not yet erased.
  expect((await run('select from projects where id = $1', [projectId])).rowCount).toBe(1);
  expect((await run('select from threads where project_id = $1', [projectId])).rowCount).toBe(2);
});

it('erases a project and frees 20,000 threads in short batches, which may stop anywhere', async () => {
  const { tenantId, projectId } = await aProject(20_000);
  const other = await aProject(3);
  const { tenantId: neighbour } = await createWorld(engine.database.unitOfWork);
  await fillTenant(engine.admin, neighbour, 2);
  const others = await checksumWithout(engine.admin, tenantId);
  await run('create table batches (rows bigint, ms float8)');
  await run('alter table batches owner to app_owner; grant insert on batches to app_purge');
  await run(`create function note_batch() returns trigger language plpgsql as $$ begin
    insert into batches select count(*), extract(epoch from clock_timestamp() - statement_timestamp()) * 1000 from changed;
    return null; end $$`);
  await run(`create trigger noted after update on threads referencing new table as changed
    for each statement execute function note_batch()`);
  await engine.act((ctx) => deleteProject(ctx, { projectId }));
  const scope = { tenantId, rootType: 'project', rootId: projectId } as const;
  let attempts = 0;
  for (let isGone = false; !isGone; attempts += 1) {
    let batches = 0;
    isGone = await eraseScope(purge, scope, {
      mayGoOn: () => (batches += 1) <= 4 + 2 * attempts,
      erased: () => {},
    });
  }
  await run('drop trigger noted on threads; drop function note_batch()');
  expect(attempts).toBeGreaterThan(2);
  const { rows: batches } = await run('select rows::int, ms from batches where rows > 0');
  expect(batches.reduce((sum, { rows }) => sum + Number(rows), 0)).toBe(20_000);
  // PostgreSQL cancels a longer one as soon as it looks.
  expect(Math.max(...batches.map(({ ms }) => Number(ms)))).toBeLessThan(2 * maxLockMs);
  await run('drop table batches');
  const { rows: left } = await run(
    `select (select count(*)::int from threads where tenant_id = $1 and project_id = $2) as named,
       (select count(*)::int from threads where tenant_id = $1 and project_id = $3) as kept,
       (select count(*)::int from threads where tenant_id = $1 and project_id is null) as freed,
       (select count(*)::int from project_members where project_id = $2) as members,
       (select count(*)::int from projects where id = $2) as projects`,
    [tenantId, projectId, other.projectId],
  );
  expect(left).toEqual([{ named: 0, kept: 3, freed: 20_000, members: 0, projects: 0 }]);
  const { rows: events } = await run(
    `select event_type as type, metadata ->> 'rows' as rows from events where resource_id = $1 order by id`,
    [projectId],
  );
  expect(events.slice(-2)).toEqual([
    { type: 'space.project_deleted', rows: null },
    { type: 'space.project_erased', rows: '3' },
  ]);
  const { rows: record } = await run('select erased from erasures where root_id = $1', [projectId]);
  expect(record).toEqual([{ erased: { project_members: 2, projects: 1 } }]);
  expect(await danglingKeys(engine.admin)).toEqual([]);
  expect(await checksumWithout(engine.admin, tenantId)).toEqual(others);
});

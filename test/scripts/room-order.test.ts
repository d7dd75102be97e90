import { expect, test } from 'vitest';
import { findRoomFaults, checkRooms } from '../../scripts/check/room-order.ts';

const judge = (files: Record<string, string>) => checkRooms(new Map(Object.entries(files)));
const caller = 'domain/foundation/access/caller.ts';
const thread = 'domain/conversations/threads/find-thread.ts';

test('an import of a higher room is found with its line, also of a type, by a relative path or in place', () => {
  expect(
    judge({
      [caller]: [
        "import { newId } from '#domain/foundation/kernel/ids.ts';",
        "import type { Space } from '#domain/workspace/spaces/space.entity.ts';",
        "export { readRole } from '../../identity/roles/read-role.ts';",
        "type Response = import('#domain/responses/record/response.entity.ts').Response;",
        'import {',
        '  Thread,',
        "} from '#domain/conversations/threads/thread.entity.ts';",
      ].join('\n'),
      [thread]: "import type { Caller } from '#domain/foundation/access/caller.ts';",
    }),
  ).toEqual([
    `${caller}:2: imports domain/workspace/spaces/space.entity.ts, of a higher room`,
    `${caller}:3: imports domain/identity/roles/read-role.ts, of a higher room`,
    `${caller}:4: imports domain/responses/record/response.entity.ts, of a higher room`,
    `${caller}:7: imports domain/conversations/threads/thread.entity.ts, of a higher room`,
  ]);
});

test('a file in no room, or in no feature of one, is found', () => {
  expect(
    judge({ 'domain/billing/invoice.ts': '', 'domain/ids.ts': '', 'domain/knowledge/chunk.ts': '' }),
  ).toEqual([
    expect.stringMatching(/^domain\/billing\/invoice\.ts: stands in no room: foundation, /),
    expect.stringMatching(/^domain\/ids\.ts: stands in no room/),
    'domain/knowledge/chunk.ts: stands in no feature of its room',
  ]);
});

test('a folder may hold thirty files, not more', () => {
  const files = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`domain/responses/end/file-${i}.ts`, '']));
  expect(judge(files(30))).toEqual([]);
  expect(judge(files(31))).toEqual(['domain/responses/end: 31 files, at most 30']);
});

test('of two folders of a room that import each other the fewer imports are named', () => {
  expect(
    judge({
      'domain/workspace/spaces/space.ts': "import { a } from '#domain/workspace/invites/a.ts';",
      'domain/workspace/invites/a.ts': "import { b } from '#domain/workspace/spaces/b.ts';\nimport './c.ts';",
      'domain/workspace/invites/c.ts': "import { b } from '#domain/workspace/spaces/b.ts';",
    }),
  ).toEqual([
    'domain/workspace/spaces/space.ts:1: imports domain/workspace/invites/a.ts, whose folder imports this one',
  ]);
});

test('the domain follows the order', async () => {
  expect(await findRoomFaults()).toEqual({ ok: true, text: '' });
});

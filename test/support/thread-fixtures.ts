import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Answer, Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { question, type Maker, type Place } from './places.ts';
import { callAt, spaceFixtures } from './space-fixtures.ts';

interface Begun {
  id: string;
  thread_id: string;
  branch_id: string;
}

const hello = { content: 'Hello' };

/** A new thread of the place with one message. */
export async function beginThread(
  maker: Maker,
  { spaceId, apiKey }: Place,
  more: { project_id?: string } = {},
): Promise<Begun> {
  const path = `/v1/spaces/${spaceId}/threads/messages`;
  const answer: Answer = await maker.send({ method: 'POST', path, apiKey, body: { ...hello, ...more } });
  return answer.body.data as Begun;
}

/** Every position of threads, their messages and a space's governance that holds an id. */
export function threadFixtures(maker: Maker): Record<string, IdFixture> {
  const at = callAt;
  const { spaceOf, freshKey, cursorOf } = spaceFixtures(maker);
  const begin = (place: Place) => beginThread(maker, place);
  const thread = async (place: Place) => (await begin(place)).thread_id;
  const threadIn = (method: string, suffix = '', body?: object): IdFixture => ({
    make: thread,
    gone: async (place) => {
      const id = await thread(place);
      await maker.remove(place, `threads/${id}`);
      return id;
    },
    unknown: newId,
    call: async (place, id) =>
      at(place, method, `threads/${id}${suffix}`, body === undefined ? {} : { body }),
    refusal: '404 thread_not_found',
  });
  /** The thread of a message or branch. */
  const homes = new Map<string, { spaceId: string; threadId: string }>();
  const homeOf = async (place: Place, id: string): Promise<string> => {
    const home = homes.get(id);
    return home?.spaceId === place.spaceId ? home.threadId : thread(place);
  };
  const inside = (
    member: 'id' | 'branch_id',
    call: (place: Place, threadId: string, id: string) => Call,
  ): IdFixture => ({
    make: async (place) => {
      const begun = await begin(place);
      homes.set(begun[member], { spaceId: place.spaceId, threadId: begun.thread_id });
      return begun[member];
    },
    unknown: newId,
    call: async (place, id) => call(place, await homeOf(place, id), id),
    refusal: member === 'id' ? '404 message_not_found' : '404 branch_not_found',
  });
  const aThread =
    (suffix = '') =>
    async (place: Place) =>
      `threads/${await thread(place)}${suffix}`;

  return {
    'listThreads path space_id': spaceOf('GET', async () => 'threads'),
    'listThreads query cursor': cursorOf(async (place) => {
      await begin(place);
      await begin(place);
      return 'threads';
    }),
    'listThreads query project_id': {
      make: (place) => maker.admin.project(place),
      unknown: newId,
      call: async (place, id) => at(place, 'GET', `threads?project_id=${id}`),
      refusal: '404 project_not_found',
    },
    'startThread body project_id': {
      make: (place) => maker.admin.project(place),
      unknown: newId,
      call: async (place, id) =>
        at(place, 'POST', 'threads/messages', { body: { ...hello, project_id: id } }),
      refusal: '404 project_not_found',
    },
    'getThread path space_id': spaceOf('GET', aThread()),
    'getThread path thread_id': threadIn('GET'),
    'updateThread path space_id': spaceOf('PATCH', aThread(), { title: 'Tides' }),
    'updateThread path thread_id': threadIn('PATCH', '', { title: 'Tides' }),
    'deleteThread path space_id': spaceOf('DELETE', aThread()),
    'deleteThread path thread_id': threadIn('DELETE'),
    'startThread path space_id': spaceOf('POST', async () => 'threads/messages', hello),
    'startThread header idempotency-key': freshKey(async () => 'threads/messages', hello),
    // It names a branch of the new thread, and has no meaning outside.
    'startThread body branch_id': {
      make: async (place) => (await begin(place)).branch_id,
      unknown: newId,
      call: async (place, id) => at(place, 'POST', 'threads/messages', { body: { ...hello, branch_id: id } }),
      refusal: 'fresh',
    },
    'addMessage path space_id': spaceOf('POST', aThread('/messages'), hello),
    'addMessage path thread_id': threadIn('POST', '/messages', hello),
    'addMessage header idempotency-key': freshKey(aThread('/messages'), hello),
    'addMessage body parent_message_id': inside('id', (place, threadId, id) =>
      at(place, 'POST', `threads/${threadId}/messages`, { body: { ...hello, parent_message_id: id } }),
    ),
    'addMessage body branch_id': inside('branch_id', (place, threadId, id) =>
      at(place, 'POST', `threads/${threadId}/messages`, { body: { ...hello, branch_id: id } }),
    ),
    'listMessages path space_id': spaceOf('GET', aThread('/messages')),
    'listMessages path thread_id': threadIn('GET', '/messages'),
    'listMessages query cursor': cursorOf(async (place) => {
      const id = await thread(place);
      await maker.send(at(place, 'POST', `threads/${id}/messages`, { body: hello }));
      return `threads/${id}/messages`;
    }),
    'listMessages query branch_id': inside('branch_id', (place, threadId, id) =>
      at(place, 'GET', `threads/${threadId}/messages?branch_id=${id}`),
    ),
    'createResponse body platform.thread_id': {
      make: thread,
      gone: async (place) => {
        const id = await thread(place);
        await maker.remove(place, `threads/${id}`);
        return id;
      },
      unknown: newId,
      call: async (place, id) =>
        at(place, 'POST', 'responses', { body: { ...question, platform: { thread_id: id } } }),
      refusal: '404 thread_not_found',
    },
    'createResponse body platform.branch_id': inside('branch_id', (place, threadId, id) =>
      at(place, 'POST', 'responses', {
        body: { ...question, platform: { thread_id: threadId, branch_id: id } },
      }),
    ),
    'getGovernance path space_id': spaceOf('GET', async () => 'governance'),
    'updateGovernance path space_id': spaceOf('PUT', async () => 'governance', { pii: {} }),
  };
}

import { newId, newResponseId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';
import { newKey } from './space-fixtures.ts';

/** In the background: no event here would end a waiting request. */
const question = {
  input: [
    { role: 'user', content: 'A?' },
    { role: 'user', content: 'B?' },
  ],
  background: true,
};

/** Every position of the OpenAI-compatible surface that holds an id. */
export function openAiFixtures(maker: Maker): Record<string, IdFixture> {
  const at = (place: Place, method: string, path: string, more: Partial<Call> = {}): Call => ({
    method,
    path: `/v1/spaces/${place.spaceId}/openai/${path}`,
    apiKey: place.apiKey,
    ...more,
  });
  const created = async (place: Place, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await maker.send(at(place, 'POST', 'responses', { body: question, headers }));
    return answer.body.id as string;
  };

  const spaceOf = (method: string, rest: (place: Place) => Promise<string>, body?: object): IdFixture => ({
    make: async (place) => place.spaceId,
    unknown: newId,
    call: async (place, id) => ({
      ...at({ ...place, spaceId: id }, method, await rest(place)),
      ...(body === undefined ? {} : { body }),
    }),
    refusal: '404 space_not_found',
    neighbourRefusal: null,
  });
  const deletedIn = async (place: Place, id: string): Promise<string> => {
    await maker.remove(place, `openai/responses/${id}`);
    return id;
  };
  const responseIn = (method: string, suffix: string): IdFixture => ({
    make: (place) => created(place),
    gone: async (place) => deletedIn(place, await created(place)),
    unknown: newResponseId,
    call: async (place, id) => at(place, method, `responses/${id}${suffix}`),
    refusal: '404 response_not_found',
    goneRefusal: '404 response_deleted',
  });
  const aResponse = (suffix: string) => async (place: Place) => `responses/${await created(place)}${suffix}`;

  /** The response of each item or cursor made here, and its space. */
  const homes = new Map<string, { spaceId: string; responseId: string }>();
  const homeOf = async (place: Place, id: string): Promise<string> => {
    const home = homes.get(id);
    return home?.spaceId === place.spaceId ? home.responseId : created(place);
  };

  return {
    'openAiCreateResponse path space_id': spaceOf('POST', async () => 'responses', question),
    'openAiCreateResponse header idempotency-key': {
      make: async (place) => {
        const id = newKey();
        await created(place, { 'idempotency-key': id });
        return id;
      },
      unknown: newKey,
      call: async (place, id) =>
        at(place, 'POST', 'responses', {
          body: question,
          headers: { 'idempotency-key': id, 'last-event-id': '0' },
        }),
      refusal: '400 cursor_without_response',
    },
    'openAiCreateResponse header last-event-id': {
      make: async (place) => `${await created(place)}:0`,
      gone: async (place) => `${await deletedIn(place, await created(place))}:0`,
      unknown: () => `${newResponseId()}:0`,
      call: async (place, id) =>
        at(place, 'POST', 'responses', { body: question, headers: { 'last-event-id': id } }),
      refusal: '400 invalid_cursor',
      goneRefusal: '404 response_deleted',
    },
    'openAiRetrieveResponse path space_id': spaceOf('GET', aResponse('')),
    'openAiRetrieveResponse path response_id': responseIn('GET', ''),
    'openAiRetrieveResponse header last-event-id': {
      make: async (place) => {
        const responseId = await maker.ended(place);
        homes.set(`${responseId}:0`, { spaceId: place.spaceId, responseId });
        return `${responseId}:0`;
      },
      unknown: () => `${newResponseId()}:0`,
      call: async (place, id) => {
        const own = homes.get(id)?.spaceId === place.spaceId ? id.split(':')[0] : await maker.ended(place);
        return at(place, 'GET', `responses/${own}?stream=true`, { headers: { 'last-event-id': id } });
      },
      refusal: '400 invalid_cursor',
    },
    'openAiCancelResponse path space_id': spaceOf('POST', aResponse('/cancel')),
    'openAiCancelResponse path response_id': responseIn('POST', '/cancel'),
    'openAiDeleteResponse path space_id': spaceOf('DELETE', aResponse('')),
    'openAiDeleteResponse path response_id': responseIn('DELETE', ''),
    'openAiListInputItems path space_id': spaceOf('GET', aResponse('/input_items')),
    'openAiListInputItems path response_id': responseIn('GET', '/input_items'),
    'openAiListInputItems query after': {
      make: async (place) => {
        const responseId = await created(place);
        const page = await maker.send(at(place, 'GET', `responses/${responseId}/input_items`));
        const id = page.body.data[0].id as string;
        homes.set(id, { spaceId: place.spaceId, responseId });
        return id;
      },
      unknown: newId,
      call: async (place, id) =>
        at(place, 'GET', `responses/${await homeOf(place, id)}/input_items?after=${id}`),
      refusal: '400 invalid_request',
    },
    'openAiListModels path space_id': spaceOf('GET', async () => 'models'),
    'openAiRetrieveModel path space_id': {
      ...spaceOf('GET', async (place) => `models/${place.modelAlias}`),
      call: async (place, id) => ({
        ...at(place, 'GET', `models/${place.modelAlias}`),
        path: `/v1/spaces/${id}/openai/models/${place.modelAlias}`,
      }),
    },
    'openAiRetrieveModel path model': {
      make: async (place) => place.modelAlias,
      unknown: newId,
      call: async (place, id) => at(place, 'GET', `models/${id}`),
      refusal: '404 model_not_found',
    },
  };
}

/** The equivalent of a native body's position in OpenAI's body, if there is one. */
export function openAiPosition(position: string): string | null {
  const field = /^createResponse body (.+)$/.exec(position)?.[1] ?? '';
  const [, inner] = /^input\.items(\[\].*)$/.exec(field) ?? [];
  if (inner !== undefined) return `openAiCreateResponse body input${inner}`;
  if (field === 'input.text') return 'openAiCreateResponse body input';
  if (/^(tools|tool_choice|metadata|model$|previous_response_id)/.test(field)) {
    return `openAiCreateResponse body ${field}`;
  }
  const [, option] = /^platform\.(instructions|text\..+)$/.exec(field) ?? [];
  return option === undefined ? null : `openAiCreateResponse body ${option}`;
}

/** The ids of a native body, tested in the same request from OpenAI's clients. */
export function mirrored(native: Record<string, IdFixture>): Record<string, IdFixture> {
  return Object.fromEntries(
    Object.entries(native).flatMap(([position, fixture]) => {
      const there = openAiPosition(position);
      return there === null ? [] : [[there, mirror(fixture)]];
    }),
  );
}

function mirror(fixture: IdFixture): IdFixture {
  const { refusal, goneRefusal, neighbourRefusal } = fixture;
  return {
    ...fixture,
    call: async (place, id) => {
      const call = await fixture.call(place, id);
      const { input, platform, ...rest } = call.body as {
        input: { items?: unknown; text?: unknown };
        platform?: object;
      };
      const body = { ...rest, ...platform, input: input.items ?? input.text, background: true };
      return { ...call, path: call.path.replace(/\/responses$/, '/openai/responses'), body };
    },
    refusal: asBadRequest(refusal),
    ...(goneRefusal === undefined ? {} : { goneRefusal: asBadRequest(goneRefusal) }),
    ...(neighbourRefusal == null ? {} : { neighbourRefusal: asBadRequest(neighbourRefusal) }),
  };
}

function asBadRequest(refusal: string): string {
  return refusal.replace(/^422 |^404 (?=previous_response_not_found)/, '400 ');
}

import { neutralValues } from '#api/contract/openai/request.ts';
import type { BodyPlace } from './body-places.ts';
import type { Call } from './gateway.ts';
import type { Operation } from './openapi.ts';
import type { Place } from './places.ts';
import { ofPopups } from './connection-fixtures.ts';
import { ofTokens } from './deletion-fixtures.ts';
import { beforeSignIn } from './sign-in-fixtures.ts';

/** The start of a cell of hostile input: a valid request of the operation. */
export interface Target {
  operation: Operation;
  /** The ids in its path. */
  methods: string[];
  /** The members of its body. */
  fields: string[];
  /** The required ones. */
  required: string[];
  places: BodyPlace[];
  call: Call;
  here: Place;
  abroad: Place;
  /** Cursors of another tenant's lists, by operation. */
  foreignCursors: Record<string, string>;
}

export interface Hostile {
  call: Call;
  status: number;
  code: string;
  param: string | null;
  allow?: string;
}

/** One kind of hostile input; none where the operation does not allow it. */
export type Kind = (target: Target) => Hostile[];

const takesBody = ({ operation }: Target): boolean => operation.declared.requestBody !== undefined;
const mayCarryBody = ({ operation }: Target): boolean => operation.method !== 'GET';

const invalid = (call: Call, param: string | null): Hostile => ({
  call,
  status: 422,
  code: 'invalid_request',
  param,
});
const unknown = (call: Call, param: string): Hostile => ({
  call,
  status: 422,
  code: 'unknown_parameter',
  param,
});

/** Bytes of the popup's form, which carries a few short fields. */
const formLimit = 4_096;

/** The same body for any operation that may have one. */
const withBody =
  (body: unknown, status: number, code: string, param: string | null = null): Kind =>
  (target) => {
    if (!mayCarryBody(target)) {
      return [];
    }
    const call = { ...target.call, body };
    const isForm = target.operation.id === 'answerConnectionPopup';
    return isForm && JSON.stringify(body).length > formLimit
      ? [{ call, status: 413, code: 'payload_too_large', param: null }]
      : [{ call, status, code, param }];
  };

/** The body with a value in each place that holds a text, one place at a time. */
const inText =
  (value: string): Kind =>
  ({ places, call }) =>
    places
      .filter(({ holds }) => holds !== 'number')
      .map((place) => invalid({ ...call, body: place.put(call.body, value) }, place.param));

const tooLong: Kind = ({ places, call }) =>
  places
    .filter((place) => place.lengthLimit !== undefined && place.isAlone(call.body))
    .map((place) =>
      invalid({ ...call, body: place.put(call.body, 'x'.repeat(place.lengthLimit! + 1)) }, place.param),
    );

const query = (call: Call, search: string): Call => ({
  ...call,
  path: `${call.path}${call.path.includes('?') ? '&' : '?'}${search}`,
});
const queryOf = ({ operation }: Target): string[] =>
  (operation.declared.parameters ?? []).filter(({ in: place }) => place === 'query').map(({ name }) => name);

/** Number-like query parameters with an invalid value. */
const inNumbers =
  (value: string): Kind =>
  (target) =>
    queryOf(target)
      .filter((name) => ['limit', 'after', 'starting_after'].includes(name))
      .map((name) => invalid(query(target.call, `${name}=${value}`), name));

/** OpenID Connect requires clients to ignore additional parameters of a provider's redirect. */
const ignoresUnknown = ({ operation }: Target): boolean =>
  ['finishLogin', 'finishConnectionPopup', 'finishEarlierPopup'].includes(operation.id);
/** They have no credential of a principal to confuse. */
const isAnonymous = ({ operation }: Target): boolean =>
  [...beforeSignIn, ...ofPopups, ...ofTokens].some((id) => id === operation.id);

/** In place of the first id of a path; a provider's before sign-in is any text. */
const inPathId =
  (segment: string, expected: Omit<Hostile, 'call' | 'param'>, named = false): Kind =>
  ({ call, operation }) => {
    const steps = operation.path.split('/');
    const at = steps.findIndex((step) => step.startsWith('{'));
    if (at < 0 || steps[at] === '{provider_id}') {
      return [];
    }
    const path = call.path
      .split('/')
      .map((step, i) => (i === at ? segment : step))
      .join('/');
    return [{ call: { ...call, path }, ...expected, param: named ? (steps[at] ?? '').slice(1, -1) : null }];
  };

/** A segment that is not valid text, also at the end of paths without an id. */
const undecodable =
  (segment: string): Kind =>
  ({ call }) => [
    {
      call: { ...call, path: call.path.replace(/[^/]+$/, segment) },
      status: 400,
      code: 'malformed_http',
      param: null,
    },
  ];

const withHeaders =
  (headers: (target: Target) => Record<string, string>, expected: Omit<Hostile, 'call'>): Kind =>
  (target) =>
    isAnonymous(target)
      ? []
      : [{ call: { ...target.call, headers: { ...target.call.headers, ...headers(target) } }, ...expected }];

/** Spelled as JSON, which allows numbers that JavaScript does not represent. */
const numbers =
  (spelled: string): Kind =>
  ({ places, call }) =>
    places
      .filter((place) => place.holds === 'number' && place.isAlone(call.body))
      .map((place) => {
        const body = JSON.stringify(place.put(call.body, '#')).replace('"#"', spelled);
        return invalid({ ...call, body }, place.param);
      });

/** Fields that a body does not decide: owner, permissions, creation time. */
export const forgedMembers = [
  'id',
  'tenant_id',
  'owner_id',
  'created_by',
  'created_at',
  'updated_at',
  'deleted_at',
  'expires_at',
  'is_admin',
  'is_platform',
  'built_in',
  'granted',
  'scope',
  'secret_hash',
  'api_key',
  'key_id',
  'invited_by',
  'answered_by',
  'writer_epoch',
  'default_model_id',
  'usage',
  'governance',
];

/** Free-form members of a body. */
const takesAnything = ['tracing_project_id'];

const both =
  (...kinds: Kind[]): Kind =>
  (target) =>
    kinds.flatMap((kind) => kind(target));

const isOpenAi = ({ operation }: Target): boolean => operation.path.includes('/openai/');

/** The status on the operation's surface: for OpenAI's clients, an invalid request is a 400. */
export function statusAt(target: Target, { status }: Pick<Hostile, 'status'>): number {
  return isOpenAi(target) && status === 422 ? 400 : status;
}

export const hostileKinds: Record<string, Kind> = {
  'an oversized body': withBody(`{"a":"${'x'.repeat(4 * 1024 * 1024)}"}`, 413, 'payload_too_large'),
  'deep nesting': both(
    withBody(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 422, 'invalid_request'),
    withBody(`${'['.repeat(500_000)}${']'.repeat(500_000)}`, 422, 'invalid_request'),
  ),
  'too many members': withBody(
    Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 1])),
    422,
    'invalid_request',
  ),
  NUL: both(inText('a\0b'), inPathId('%00', { status: 422, code: 'invalid_request' }, true)),
  'a lone surrogate': inText('a\uD800b'),
  'a wrong type in each field': (target) => {
    if (!takesBody(target)) {
      return [];
    }
    return target.fields
      .filter((name) => !takesAnything.includes(name))
      .map((name) => {
        const call = { ...target.call, body: { ...(target.call.body as object), [name]: [[1]] } };
        if (name === 'conversation' || (isOpenAi(target) && name in neutralValues)) {
          return { call, status: 422, code: 'unsupported_parameter', param: name };
        }
        const isList =
          [
            'tools',
            'enabled_tools',
            'allowed_tools',
            'input_modalities',
            'extra_audiences',
            'redirect_uris',
            'permissions',
            'models',
            ...(target.operation.id === 'executeKnowledgeSearch' ? ['collection_ids'] : []),
          ].includes(name) ||
          (isOpenAi(target) && ['input', 'include'].includes(name));
        return invalid(call, isList ? `${name}.0` : name);
      });
  },
  'an unknown field': (target) =>
    mayCarryBody(target)
      ? [
          unknown(
            { ...target.call, body: { ...(target.call.body as object | undefined), colour: 'red' } },
            'colour',
          ),
        ]
      : [],
  'forged members': (target) =>
    takesBody(target)
      ? forgedMembers
          .filter((name) => !target.fields.includes(name))
          .map((name) =>
            unknown(
              { ...target.call, body: { ...(target.call.body as object | undefined), [name]: true } },
              name,
            ),
          )
      : [],
  'an unknown query parameter': (target) =>
    ignoresUnknown(target) ? [] : [unknown(query(target.call, 'colour=red'), 'colour')],
  'prototype keys': both(
    withBody('{"__proto__":{"admin":true}}', 422, 'invalid_request'),
    withBody('{"constructor":{"prototype":{"admin":true}}}', 422, 'invalid_request'),
    (target) => (ignoresUnknown(target) ? [] : [unknown(query(target.call, '__proto__=1'), '__proto__')]),
  ),
  'a cursor of another tenant': (target) => {
    const { call, operation, foreignCursors } = target;
    const stolen = foreignCursors[operation.id];
    if (ignoresUnknown(target)) {
      return [];
    }
    return stolen === undefined
      ? [unknown(query(call, `cursor=${Object.values(foreignCursors)[0]}`), 'cursor')]
      : [{ call: query(call, `cursor=${stolen}`), status: 422, code: 'invalid_cursor', param: 'cursor' }];
  },
  'ids of another tenant': ({ call, abroad, operation }) =>
    operation.path.includes('{space_id}')
      ? [
          {
            call: { ...call, path: call.path.replace(/(\/spaces\/)[^/?]+/, `$1${abroad.spaceId}`) },
            status: 404,
            code: 'space_not_found',
            param: null,
          },
        ]
      : [],
  'a value that no list has': (target) =>
    queryOf(target)
      .filter((name) => ['category', 'resource_type'].includes(name))
      .map((name) => invalid(query(target.call, `${name}=red`), name)),
  'a moment that is none': (target) =>
    queryOf(target)
      .filter((name) => name.endsWith('_date'))
      .flatMap((name) =>
        [
          'yesterday',
          '2026-13-01T00:00:00Z',
          '2026-02-30T00:00:00Z',
          '2026-01-01T24:00:00Z',
          '2026-06-30T23:59:60Z',
          '2026-01-01T00:00:00%2B16:00',
          '2026-01-01T00:00:00-16:00',
          '2026-01-01T00:00:00%2B23:59',
          '0000-01-01T00:00:00Z',
          '0001-01-01T00:00:00%2B00:01',
          '9999-12-31T23:59:00-00:01',
          '10000-01-01T00:00:00Z',
          '2026-01-01',
          '%00',
          "';--",
        ].map((value) => invalid(query(target.call, `${name}=${value}`), name)),
      ),
  'ids that are none': inPathId('1%20or%201=1', { status: 422, code: 'invalid_request' }, true),
  'malformed JSON': both(
    withBody('{"a":', 422, 'invalid_request'),
    withBody("{'a':1}", 422, 'invalid_request'),
    withBody('{"a":1} {"b":2}', 422, 'invalid_request'),
  ),
  'an empty body': (target) =>
    // A run is begun without one.
    takesBody(target) && target.operation.id !== 'requestSync'
      ? // Its parameters may stand in the query instead.
        [
          invalid(
            { ...target.call, body: '' },
            target.operation.id === 'calculateContext' ? 'question' : null,
          ),
        ]
      : [],
  'a wrong content type': (target) =>
    mayCarryBody(target)
      ? [
          'text/plain',
          'application/xml',
          // Two operations take forms; without a file, or without fields, they refuse them in other words.
          ...(target.operation.id === 'answerConnectionPopup' ? [] : ['application/x-www-form-urlencoded']),
          ...(target.operation.id === 'uploadDocument' ? [] : ['multipart/form-data; boundary=x']),
        ].map((type) => ({
          call: { ...target.call, body: '{}', headers: { ...target.call.headers, 'content-type': type } },
          status: 415,
          code: 'unsupported_media_type',
          param: null,
        }))
      : [],
  'huge numbers': both(
    numbers('1e400'),
    numbers('123456789012345678901234567890'),
    inNumbers('99999999999999999999'),
  ),
  'negative numbers': both(numbers('-1'), inNumbers('-1')),
  'a repeated query parameter': (target) => {
    const [first] = queryOf(target);
    return first === undefined
      ? [unknown(query(target.call, 'a=1&a=2'), 'a')]
      : [invalid(query(target.call, `${first}=1&${first}=1`), first)];
  },
  'very long text': both(
    tooLong,
    (target) =>
      queryOf(target).includes('cursor')
        ? [invalid(query(target.call, `cursor=${'x'.repeat(501)}`), 'cursor')]
        : [],
    inPathId('x'.repeat(201), { status: 404, code: 'route_not_found' }),
  ),
  'invalid UTF-8': both(
    withBody(
      Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0x22, 0x7d]),
      422,
      'invalid_request',
    ),
    withBody(Buffer.from([0x7b, 0xed, 0xa0, 0x80, 0x7d]), 422, 'invalid_request'),
  ),
  'an array instead of an object': withBody('[]', 422, 'invalid_request'),
  'a text instead of an object': withBody('"x"', 422, 'invalid_request'),
  'null for what is required': ({ required, call }) =>
    required.map((name) => invalid({ ...call, body: { ...(call.body as object), [name]: null } }, name)),
  'a wrong method': ({ call, operation, methods }) =>
    ['PUT', 'OPTIONS', 'PATCH', 'DELETE']
      .filter((method) => !methods.includes(method))
      .map((method) => ({
        call: { ...call, method },
        status: 405,
        code: 'method_not_allowed',
        param: null,
        allow: operation.path,
      })),
  'bad percent-encoding': both(undecodable('%ZZ'), undecodable('%E0%A4%A'), undecodable('%ED%A0%80')),
  'forged headers': both(
    withHeaders(({ abroad }) => ({ authorization: `Bearer ${abroad.apiKey}` }), {
      status: 401,
      code: 'ambiguous_credentials',
      param: null,
    }),
    withHeaders(() => ({ 'x-api-key': `ak.${'0'.repeat(16)}.${'0'.repeat(49)}` }), {
      status: 401,
      code: 'invalid_credentials',
      param: null,
    }),
    withHeaders(({ abroad }) => ({ 'x-tenant-id': abroad.tenantId }), {
      status: 403,
      code: 'tenant_mismatch',
      param: null,
    }),
    (target) =>
      (target.operation.declared.parameters ?? []).some(({ name }) => name === 'idempotency-key')
        ? ['with space', 'é', 'x'.repeat(256), ''].map((key) => ({
            call: { ...target.call, headers: { ...target.call.headers, 'idempotency-key': key } },
            status: 400,
            code: 'invalid_header',
            param: 'Idempotency-Key',
          }))
        : [],
    (target) =>
      ['createResponse', 'openAiCreateResponse'].includes(target.operation.id)
        ? ['', 'x y', 'resp_x:-1', 'resp_x:99999999999999999999', '../0'].map((cursor) => ({
            call: { ...target.call, headers: { ...target.call.headers, 'last-event-id': cursor } },
            status: 422,
            code: 'invalid_cursor',
            param: 'Last-Event-ID',
          }))
        : [],
  ),
};

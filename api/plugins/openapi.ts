import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import type { ZodType } from 'zod';
import { own } from '#domain/foundation/kernel/own.ts';
import { softwareVersion } from '#domain/foundation/kernel/software-version.ts';
import { problemBody } from '../contract/common.ts';

const title = 'Platform API';
const servers = [{ url: '/api' }, { url: '/api-proxy', description: 'Legacy prefix.' }];

/**
 * OpenAPI 3.1 from the route schemas at `openapi.json`, with a page at `docs/` whose default server is its own origin.
 */
export async function describeApi(scope: FastifyInstance, prefix: string): Promise<void> {
  const transform = createJsonSchemaTransform({ skipList: [`${prefix}/openapi.json`] });
  await scope.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version: softwareVersion,
        description: 'Governed use of language models over an organisation’s knowledge and tools.',
      },
      servers: servers.toSorted((a, b) => Number(b.url === prefix) - Number(a.url === prefix)),
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
      security: [{ apiKey: [] }, { bearer: [] }],
    },
    transform: (route) => {
      const { schema: described, url } = transform(route);
      const plain = described === undefined ? described : withoutExamples(described);
      const { streams = false, sendsFile = [], takesFile, refusesInPages = false } = route.route.config ?? {};
      const body = (form: ZodType) => transform({ ...route, schema: { body: form } }).schema?.body;
      const schema =
        takesFile === undefined ? plain : { ...plain, body: bodyOf(plain?.body, takesFile, body) };
      return {
        schema: withMediaTypes(schema, { streams, sendsFile, refusesInPages }),
        url: url.slice(prefix.length),
      };
    },
    transformObject: jsonSchemaTransformObject,
  });
  let written: string | undefined;
  const description = () => (written ??= JSON.stringify(scope.swagger()));
  await scope.register(async (page) => {
    // Assets have relative URLs, which need the trailing slash.
    page.addHook('onRequest', async (request, reply) =>
      request.url.split('?', 1)[0] === `${prefix}/docs` ? reply.redirect(`${prefix}/docs/`) : undefined,
    );
    // The document is public and serialising it takes some ten milliseconds, so it is cached.
    page.addHook('onRequest', async (request, reply) =>
      request.url.split('?', 1)[0] === `${prefix}/docs/json`
        ? reply.type(json).send(description())
        : undefined,
    );
    await page.register(swaggerUi, {
      routePrefix: '/docs',
      logLevel: 'silent',
      staticCSP: pagePolicy,
      theme: { title },
      uiConfig: { deepLinking: true, defaultModelsExpandDepth: 0 },
    });
  });
  scope.get(
    '/openapi.json',
    { schema: { hide: true }, config: { public: 'the API description is public' } },
    (_request, reply) => reply.type(json).serializer(String).send(description()),
  );
}

const json = 'application/json; charset=utf-8';

/** Scripts and data come from this origin only; the page's library uses inline styles and data URLs for images. */
const pagePolicy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

const problemRef = `#/components/schemas/${problemBody.meta()?.id}`;

/** The page fills in the examples of parameters, and a filter that nobody has chosen would hide what is there. */
function withoutExamples(schema: NonNullable<Described>): NonNullable<Described> {
  const bare = (place: unknown): unknown =>
    JSON.parse(JSON.stringify(place, (name, value: unknown) => (name === 'examples' ? undefined : value)));
  const { params, querystring, headers } = schema;
  return {
    ...schema,
    ...(params === undefined ? {} : { params: bare(params) }),
    ...(querystring === undefined ? {} : { querystring: bare(querystring) }),
    ...(headers === undefined ? {} : { headers: bare(headers) }),
  };
}

type Described = ReturnType<ReturnType<typeof createJsonSchemaTransform>>['schema'];

/** Of an operation that takes a file. */
function bodyOf(
  json: unknown,
  takesFile: 'stream' | { form: ZodType },
  describe: (form: ZodType) => unknown,
) {
  const content =
    takesFile === 'stream'
      ? { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
      : {
          'application/json': { schema: json },
          'multipart/form-data': { schema: describe(takesFile.form) },
        };
  return { content };
}

/** Adds problem details to errors, and event streams and empty ends of streams to the operations that stream. */
function withMediaTypes(
  schema: Described,
  {
    streams,
    sendsFile,
    refusesInPages,
  }: { streams: boolean; sendsFile: readonly string[]; refusesInPages: boolean },
): Described {
  const response = Object.entries(schema?.response ?? {}).map(([status, body]) => {
    if (status.startsWith('3')) {
      return [status, { type: 'null', description: own(descriptions, status) }];
    }
    if (sendsFile.length > 0 && status === '200') {
      const files = Object.fromEntries(sendsFile.map((mediaType) => [mediaType, { schema: body }]));
      return [status, { description: 'The bytes of the file', content: files }];
    }
    const content: Record<string, object> = { 'application/json': { schema: body } };
    if (/^[45]/.test(status)) {
      content['application/problem+json'] = { schema: { $ref: problemRef } };
      if (refusesInPages) {
        content['text/html'] = { schema: { type: 'string' } };
      }
    } else if (streams && status === '200') {
      content['text/event-stream'] = { schema: { type: 'string' } };
    }
    return [status, { description: own(descriptions, status) ?? 'Success', content }];
  });
  const ended = streams
    ? [['204', { type: 'null', description: 'No event follows this Last-Event-ID.' }]]
    : [];
  return response.length === 0
    ? schema
    : { ...schema, response: Object.fromEntries([...response, ...ended]) as Record<string, object> };
}

const descriptions: Readonly<Record<string, string>> = {
  '201': 'Created',
  '202': 'Accepted',
  '303': 'For browsers: the same address in Location',
  '304': 'The client has the bytes that `If-None-Match` names',
  '4xx': 'Refused',
  '5xx': 'Failed',
};

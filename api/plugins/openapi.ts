import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import { problemBody } from '../contract/common.ts';

/** OpenAPI 3.1 from the route schemas at `openapi.json`, with a page at `docs`. */
export async function describeApi(scope: FastifyInstance): Promise<void> {
  const transform = createJsonSchemaTransform({ skipList: ['/api/openapi.json'] });
  await scope.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Platform API',
        version: '2026.11.21',
        description: 'Governed use of language models over an organisation’s knowledge and tools.',
      },
      servers: [{ url: '/api' }, { url: '/api-proxy', description: 'Legacy prefix.' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
      security: [{ apiKey: [] }, { bearer: [] }],
    },
    transform: (route) => {
      const { schema, url } = transform(route);
      const streams = route.route.config?.streams === true;
      return { schema: withMediaTypes(schema, streams), url: url.replace(/^\/api/, '') };
    },
    transformObject: jsonSchemaTransformObject,
  });
  await scope.register(swaggerUi, {
    routePrefix: '/docs',
    logLevel: 'silent',
    uiConfig: { deepLinking: true, defaultModelsExpandDepth: 0 },
  });
  scope.get('/openapi.json', { schema: { hide: true }, config: { public: 'the API describes itself' } }, () =>
    scope.swagger(),
  );
}

const problemRef = `#/components/schemas/${problemBody.meta()?.id}`;

type Described = ReturnType<ReturnType<typeof createJsonSchemaTransform>>['schema'];

/** Errors come in two forms, and what streams answers in events or, behind the last one, with nothing. */
function withMediaTypes(schema: Described, streams: boolean): Described {
  const response = Object.entries(schema?.response ?? {}).map(([status, body]) => {
    if (status.startsWith('3')) {
      return [status, { type: 'null', description: descriptions[status] }];
    }
    const content: Record<string, object> = { 'application/json': { schema: body } };
    if (/^[45]/.test(status)) {
      content['application/problem+json'] = { schema: { $ref: problemRef } };
    } else if (streams && status === '200') {
      content['text/event-stream'] = { schema: { type: 'string' } };
    }
    return [status, { description: descriptions[status] ?? 'Success', content }];
  });
  const ended = streams
    ? [['204', { type: 'null', description: 'Nothing comes after this Last-Event-ID.' }]]
    : [];
  return response.length === 0
    ? schema
    : { ...schema, response: Object.fromEntries([...response, ...ended]) as Record<string, object> };
}

const descriptions: Readonly<Record<string, string>> = {
  '201': 'Created',
  '202': 'Accepted',
  '303': 'For browsers: the same address in Location',
  '4xx': 'Refused',
  '5xx': 'Failed',
};

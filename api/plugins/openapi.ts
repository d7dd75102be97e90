import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';

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
      const result = transform(route);
      return { ...result, url: result.url.replace(/^\/api/, '') };
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

import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client';
import type { AppRouter } from '#api/trpc/router.ts';

/**
 * Prints why each failed response of a space failed, one line each. Run it as
 * `PLATFORM_URL=… PLATFORM_API_KEY=… node docs/examples/failed-responses.ts <space_id>`.
 */
const [spaceId = ''] = process.argv.slice(2);
const platform = createTRPCClient<AppRouter>({
  links: [
    httpBatchLink({
      url: `${process.env['PLATFORM_URL'] ?? 'http://127.0.0.1:8080'}/api/trpc`,
      headers: { 'X-API-Key': process.env['PLATFORM_API_KEY'] ?? '' },
      maxItems: 20,
    }),
  ],
});

try {
  const failed = await platform.responses.list.query({ space_id: spaceId, status: 'failed' });
  // Called at once, so that they are batched into one request.
  const inspected = await Promise.all(
    failed.data.map(({ id }) => platform.responses.inspect.query({ response_id: id })),
  );
  for (const { data } of inspected) {
    const attempts = data.turns.flatMap((turn) => turn.attempts);
    const reason = data.response.platform.failure_reason?.code ?? 'unknown';
    console.log(`${data.response.id} ${reason} after ${attempts.length} attempts`);
  }
} catch (error) {
  if (!(error instanceof TRPCClientError)) {
    throw error;
  }
  // Typed like the results: the error object of the whole API.
  const refused = (error as TRPCClientError<AppRouter>).data?.error;
  console.error(refused === undefined ? 'no gateway' : `${refused.code} ${refused.request_id}`);
  process.exitCode = 1;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as received over OTLP, its attributes by name. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  startMs: number;
  endMs: number;
  /** 1: fine, 2: failed */
  status: number;
  message: string | null;
  attributes: Record<string, string | number | boolean>;
}

export interface Arrival {
  path: string;
  /** `public:secret` */
  credentials: string;
  spans: ReceivedSpan[];
  resource: Record<string, string | number | boolean>;
  body: string;
}

export interface TraceReceiver {
  url: string;
  origin: string;
  /** Every export, whatever its answer was. */
  arrivals: Arrival[];
  /** The answer to exports from now on: a status, or none. */
  answer: number | 'never';
  stop(): Promise<void>;
}

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
}
type OtlpAttributes = { key: string; value: OtlpValue }[];
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number; message?: string };
  attributes: OtlpAttributes;
}
interface OtlpRequest {
  resourceSpans: { resource: { attributes: OtlpAttributes }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** Receives traces as Langfuse does, and records them. */
export async function startTraceReceiver(): Promise<TraceReceiver> {
  const server = createServer((request, response) => {
    void text(request).then((body) => take(request, response, body));
  });
  const take = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const [, encoded = ''] = (request.headers.authorization ?? '').split(' ');
    const { resourceSpans } = JSON.parse(body) as OtlpRequest;
    receiver.arrivals.push({
      path: request.url ?? '',
      credentials: Buffer.from(encoded, 'base64').toString(),
      spans: resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(toSpan))),
      resource: toRecord(resourceSpans[0]?.resource.attributes ?? []),
      body,
    });
    if (receiver.answer !== 'never') {
      response.writeHead(receiver.answer, { 'content-type': 'application/json' }).end('{}');
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: TraceReceiver = {
    url: origin,
    origin,
    arrivals: [],
    answer: 200,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

function toSpan(span: OtlpSpan): ReceivedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? null,
    name: span.name,
    startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
    endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
    status: span.status.code,
    message: span.status.message ?? null,
    attributes: toRecord(span.attributes),
  };
}

function toRecord(attributes: OtlpAttributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}

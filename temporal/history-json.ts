import { createRequire } from 'node:module';
import type { WorkflowHandle } from '@temporalio/client';

/** A history as the client fetches it and a replay accepts it. */
export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

interface MessageType {
  fromObject(value: object): object;
}

interface ProtoJson {
  toJson(type: MessageType, message: object): unknown;
  fromJson(type: MessageType, json: unknown): History;
}

/**
 * The SDK's own `historyToJSON` works with one copy of protobufjs only: it checks that a type belongs to the copy below
 * `@temporalio/proto`. So both are imported from the same place here.
 */
const common = createRequire(import.meta.resolve('@temporalio/common'));
const proto = createRequire(common.resolve('@temporalio/proto'));
const protoJson = proto('protobufjs/ext/protojson') as ProtoJson;
const root = common('@temporalio/proto') as { lookupType(name: string): MessageType };
const historyType = root.lookupType('temporal.api.history.v1.History');

/** The proto's JSON form, as other tools of Temporal write and read it. */
export function historyToJson(history: History): { events: unknown[] } {
  return protoJson.toJson(historyType, historyType.fromObject(history)) as { events: unknown[] };
}

export function historyFromJson(json: unknown): History {
  return protoJson.fromJson(historyType, json);
}

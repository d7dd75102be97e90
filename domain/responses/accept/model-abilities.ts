import { unsupported } from '#domain/foundation/kernel/errors.ts';
import type { InputModality } from '#domain/capabilities/models/model-gateway.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';

type Abilities = Pick<Model, 'providerKind' | 'supportsReasoning' | 'inputModalities'>;

type Reasoning = Pick<CreateResponseInput, 'reasoningEffort' | 'reasoningSummary'>;

/**
 * The reasoning effort and summary for the model. For a `plain` request both are hints, which clients send whatever
 * the model. @throws `unsupported_parameter`
 */
export function reasoningFor(input: CreateResponseInput, model: Abilities): Reasoning {
  const { reasoningEffort, reasoningSummary, plain = false } = input;
  if (!plain) {
    rejectReasoning(input, model);
  }
  const summarises = model.supportsReasoning && model.providerKind !== 'openai_compatible';
  return {
    reasoningEffort: model.supportsReasoning ? reasoningEffort : null,
    reasoningSummary: summarises ? reasoningSummary : null,
  };
}

function rejectReasoning({ reasoningEffort, reasoningSummary }: Reasoning, model: Abilities): void {
  const reasons = (reasoningEffort !== null && reasoningEffort !== 'none') || reasoningSummary !== null;
  if (reasons && !model.supportsReasoning) {
    throw unsupported('reasoning', 'This model does not support reasoning.');
  }
  // Servers of this kind return raw reasoning, if any, which is never shown.
  if (reasoningSummary !== null && model.providerKind === 'openai_compatible') {
    throw unsupported('reasoning.summary', 'This model does not summarise its reasoning.');
  }
}

/** Refuses what the model cannot do, instead of ignoring it. @throws `unsupported_parameter` */
export function rejectForModel(input: CreateResponseInput, model: Abilities): void {
  if (input.format.type === 'json_object' && model.providerKind === 'anthropic') {
    throw unsupported('platform.text.format', 'This model needs a schema for JSON.');
  }
  for (const modality of modalitiesOf(input)) {
    if (!model.inputModalities.includes(modality)) {
      throw unsupported('input', `This model does not accept ${modality}s.`);
    }
  }
}

function modalitiesOf({ input }: CreateResponseInput): Set<InputModality> {
  const parts = input.flatMap((item) => (item.type === 'message' ? (item.content ?? []) : []));
  return new Set(
    parts.flatMap(({ type }) => (type === 'input_image' ? ['image'] : type === 'input_file' ? ['file'] : [])),
  );
}

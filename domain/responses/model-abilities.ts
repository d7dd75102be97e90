import { unsupported } from '#domain/kernel/errors.ts';
import type { InputModality } from '#domain/models/model-gateway.ts';
import type { Model } from '#domain/models/model.entity.ts';
import type { CreateResponseInput } from './create-input.ts';

type Abilities = Pick<Model, 'providerKind' | 'supportsReasoning' | 'inputModalities'>;

/** Refuses what the model cannot do, instead of ignoring it. @throws `unsupported_parameter` */
export function refuseForModel(input: CreateResponseInput, model: Abilities): void {
  const { reasoningEffort, reasoningSummary } = input;
  const reasons = (reasoningEffort !== null && reasoningEffort !== 'none') || reasoningSummary !== null;
  if (reasons && !model.supportsReasoning) {
    throw unsupported('reasoning', 'This model does not support reasoning.');
  }
  // Servers of this kind say their raw reasoning, if any, and that is for nobody.
  if (reasoningSummary !== null && model.providerKind === 'openai_compatible') {
    throw unsupported('reasoning.summary', 'This model does not summarise its reasoning.');
  }
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

import { isHosted, type HostedTool } from '#api/contract/openai/hints.ts';
import { neutralValues, type OpenAiCreateBody } from '#api/contract/openai/request.ts';
import type { CreateResponseBody } from '#api/contract/responses.ts';
import { unsupported } from '#domain/foundation/kernel/errors.ts';

/** The same request for the native surface. @throws `unsupported_parameter` */
export function toNativeBody(body: OpenAiCreateBody): CreateResponseBody {
  rejectUnimplemented(body);
  const { input, text, include, reasoning } = body;
  return {
    input: typeof input === 'string' ? { text: input } : { items: input },
    model: body.model,
    tools: body.tools?.flatMap((tool) => (isHosted(tool) ? [] : [tool])),
    tool_choice: toNativeChoice(body.tool_choice),
    tool_mode: 'auto_resolve',
    max_output_tokens: body.max_output_tokens,
    reasoning: reasoning == null ? reasoning : { effort: reasoning.effort, summary: reasoning.summary },
    stream: body.stream ?? false,
    previous_response_id: body.previous_response_id,
    metadata: body.metadata,
    platform: {
      instructions: body.instructions,
      ...(text?.format == null ? {} : { text: { format: text.format } }),
      temperature: body.temperature,
      top_p: body.top_p,
      parallel_tool_calls: body.parallel_tool_calls,
      include: include?.filter((name) => name === 'file_search_call.results'),
      max_tool_calls: body.max_tool_calls,
    },
  };
}

/** Accepts an unimplemented field only with a value that has no effect. */
function rejectUnimplemented(body: OpenAiCreateBody): void {
  for (const [name, neutral] of Object.entries(neutralValues)) {
    const value = body[name as keyof OpenAiCreateBody];
    if (value != null && !neutral.includes(value)) {
      throw unsupported(name);
    }
  }
}

/** Types of the dropped tools, with the name where a tool has one. */
export function unsupportedTools({ tools }: OpenAiCreateBody): string[] {
  return (tools ?? []).flatMap((tool) => (isHosted(tool) ? [nameOf(tool)] : []));
}

function nameOf({ type, name }: HostedTool): string {
  return typeof name === 'string' && /^[\w-]{1,64}$/.test(name) ? `${type}/${name}` : type;
}

type Choice = OpenAiCreateBody['tool_choice'];

/** Drops unsupported tools from the allowed ones; if none is left, no tool may be called. */
function toNativeChoice(choice: Choice): Choice {
  if (choice == null || typeof choice === 'string' || choice.type !== 'allowed_tools') {
    return choice;
  }
  const tools = choice.tools.filter((tool) => !isHosted(tool));
  return tools.length === 0 && choice.mode === 'auto' ? 'none' : { ...choice, tools };
}

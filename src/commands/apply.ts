import { dirname, join } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { readDesiredState, SecretsFile } from '../cli/apply/files.ts'
import { type Action, isDifference, type Outcome, planApply, type Step } from '../cli/apply/plan.ts'
import { parsePath, skipFlag } from '../cli/arguments/list-flags.ts'
import { DIFFERENT, InterruptedError } from '../cli/command/cli-error.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { counted, printable } from '../cli/command/output.ts'
import { onInterrupt } from '../cli/command/program.ts'
import { confirm, type PromptOptions } from '../cli/command/prompt.ts'
import { showChanges } from '../cli/template/template-push.ts'

export default class Apply extends ClientCommand {
  static override summary = 'Apply files to the projects, templates, and webhooks of a workspace.'
  static override description =
    'Reads projects/*.json, templates/*.json, webhooks/*.json, and limits.json in a folder, shows the changes, and ' +
    'asks for confirmation. Projects are matched by name, templates by key, and webhooks by url; "project" in a ' +
    'template file names the project of the template. A property that a file omits keeps its value on the server. A ' +
    'kind without a folder is ignored. Other files and folders with JSON or YAML are reported. Templates become ' +
    'drafts unless --publish is set. Nothing is deleted without --prune. After a failure, run the command again to ' +
    'continue. Limits are only compared: an operator must set them. Exits with 3 if --plan finds differences, or if an ' +
    'operator must set limits.'
  static override examples = [
    {
      description: 'Show the changes, and apply them after a confirmation',
      command: '<%= config.bin %> apply deploy/',
    },
    {
      description: 'In CI: fail if the server differs from the files',
      command: '<%= config.bin %> apply deploy/ --plan --json',
    },
    {
      description: 'In CI: apply the files to the server',
      command: '<%= config.bin %> apply deploy/ --publish --yes --secrets /run/secrets/webhooks.json',
    },
  ]
  static override args = { folder: Args.string({ description: 'Folder with the files.', required: true }) }
  static override flags = {
    plan: Flags.boolean({ summary: 'Show the changes, and apply nothing.', exclusive: ['yes'] }),
    yes: skipFlag,
    publish: Flags.boolean({ summary: 'Publish the templates instead of only saving drafts.' }),
    prune: Flags.boolean({
      summary:
        'Delete projects, templates, and webhooks that no file describes. For example, if webhooks/ does not exist, ' +
        'no webhook is deleted. Asks for confirmation of each deletion, unless --yes is set.',
    }),
    secrets: Flags.string({
      summary: 'Private file for the signing secrets of new webhooks (default: webhook-secrets.json in the folder).',
      parse: parsePath,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(Apply)
    const desired = await readDesiredState(args.folder)
    const secretsPath = flags.secrets ?? join(args.folder, 'webhook-secrets.json')
    const holdSecrets = [secretsPath, dirname(secretsPath)]
    for (const path of desired.ignored) if (!holdSecrets.includes(path)) this.note(`${path} is not used`)
    const secrets = await SecretsFile.open(secretsPath, (message) => this.note(message))
    const { prune, publish } = flags
    const steps = await planApply(this.connect(flags), desired, { prune, publish, secrets })
    const differences = steps.filter(isDifference)
    if (flags.plan) {
      this.log(showPlan(steps))
      if (differences.length > 0) process.exitCode = DIFFERENT
      return { differences: differences.length, steps: steps.map((step) => toJson(step)) }
    }
    this.note(showPlan(steps))
    const toDo = steps.filter(({ carryOut }) => carryOut)
    if (!flags.yes) await this.#ask(toDo, { noInput: flags['no-input'] })
    const outcomes = await this.#carryOut(toDo, secrets)
    if (steps.some(({ action }) => action === 'operator')) process.exitCode = DIFFERENT
    return {
      differences: differences.length,
      steps: steps.map((step) => toJson(step, outcomes.get(step) ?? step.action)),
    }
  }

  async #ask(steps: readonly Step[], options: PromptOptions): Promise<void> {
    const ends = steps.filter(({ action }) => action === 'delete')
    const others = steps.length - ends.length
    if (others > 0) await confirm(`Create or change ${counted(others, 'object')}?`, { ...options, yes: false })
    for (const step of ends) await confirm(`Delete the ${describeStep(step)}?`, { ...options, yes: false })
  }

  async #carryOut(steps: readonly Step[], secrets: SecretsFile): Promise<Map<Step, Outcome>> {
    const outcomes = new Map<Step, Outcome>()
    using interrupt = onInterrupt()
    try {
      for (const step of steps) {
        if (interrupt.signal.aborted) throw new InterruptedError('Stopped.')
        const outcome = await step.carryOut!()
        outcomes.set(step, outcome)
        this.log(`${outcome} ${describeStep(step)}`)
      }
    } catch (error) {
      this.note(`${outcomes.size} of ${steps.length} changes were applied. Run the command again to resume.`)
      throw error
    } finally {
      await secrets.close()
      if (secrets.written > 0)
        this.note(`New webhook secrets: ${secrets.path}. Keep this file secret, and do not add it to git.`)
    }
    return outcomes
  }
}

function toJson({ kind, name, file, action, changes, note }: Step, outcome?: Outcome | Step['action']) {
  return { kind, name, file, action, changes, ...(note && { note }), ...(outcome && { outcome }) }
}

/** The text for each action in a plan (`sign`) and in its summary (`counted`), in the order of the summary. */
const actions: Record<Action, { sign: string; counted: string }> = {
  create: { sign: '+ create', counted: 'to create' },
  change: { sign: '~ change', counted: 'to change' },
  delete: { sign: '- delete', counted: 'to delete' },
  unchanged: { sign: '  unchanged', counted: 'unchanged' },
  notInFiles: { sign: '? not in files:', counted: 'not in files' },
  operator: { sign: '! for an operator:', counted: 'for an operator' },
}

function showPlan(steps: readonly Step[]): string {
  const lines = steps
    .filter(({ action }) => action !== 'unchanged')
    .flatMap((step) => [
      `${actions[step.action].sign} ${describeStep(step)}${step.file ? ` (${printable(step.file)})` : ''}`,
      ...indent(showChanges(step.changes)),
      ...indent(step.note ?? ''),
    ])
  return [...lines, `${countSteps(steps)}.`].join('\n')
}

function describeStep({ kind, name }: Pick<Step, 'kind' | 'name'>): string {
  return kind === 'limits' ? `limits of the workspace ${printable(name)}` : `${kind} ${printable(name)}`
}

function countSteps(steps: readonly Step[]): string {
  const counts = Object.entries(actions).map(([name, { counted }]) => {
    return [steps.filter(({ action }) => action === name).length, counted] as const
  })
  return (
    counts.flatMap(([count, counted]) => (count > 0 ? [`${count} ${counted}`] : [])).join(', ') || 'Nothing to apply'
  )
}

function indent(text: string): string[] {
  return text === '' ? [] : text.split('\n').map((line) => `    ${line}`)
}

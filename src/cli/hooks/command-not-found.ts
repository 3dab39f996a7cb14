import type { Hook } from '@oclif/core'
import { UsageError } from '../command/cli-error.ts'
import { describeFailure, failureJson, formatFailure, suggestCommand } from '../command/failure.ts'
import { canColor } from '../settings/settings.ts'

const commandNotFound: Hook.CommandNotFound = async function ({ id, config }) {
  const words = id.split(':')
  const known = config.commands.filter(({ hidden }) => !hidden).map((command) => command.id.replaceAll(':', ' '))
  const meant = suggestCommand(words, known)
  const topic = config.findTopic(words[0]!)?.name
  const called = known
    .filter((command) => words.join(' ').startsWith(`${command} `))
    .toSorted((a, b) => b.length - a.length)[0]
  const failure = describeFailure(
    called
      ? new UsageError(`${config.bin} ${called} takes no argument ${words[called.split(' ').length]}`, {
          hint: `${config.bin} ${called} --help shows the usage.`,
        })
      : new UsageError(`${config.bin} has no command ${topic ? words.slice(0, 2).join(' ') : words[0]}`, {
          hint: meant
            ? `did you mean ${config.bin} ${meant}?`
            : `${config.bin} ${topic ? `${topic} ` : ''}--help lists the commands.`,
        }),
  )
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(failureJson(failure), undefined, 2)}\n`)
  else process.stderr.write(`${formatFailure(failure, { color: canColor(process.stderr) })}\n`)
  this.exit(failure.exitCode)
}

export default commandNotFound

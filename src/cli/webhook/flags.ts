import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Flags } from '@oclif/core'
import { z } from 'zod'
import { subscribableEvents } from '../../core/events.ts'
import { newSecret } from '../../core/rules/crypto/signature.ts'
import { underLock } from '../../files/file-lock.ts'
import { replacePrivateSync } from '../../files/private-file.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import type { Connection } from '../settings/settings.ts'

export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, ...repeatable, delimiter: ',' })({ summary, aliases: ['events'] })
}

/** Validates the address of `--forward-to`. @throws UsageError */
export function applicationAddress(address: string | undefined): string | undefined {
  if (address === undefined || (URL.canParse(address) && /^https?:/i.test(address))) return address
  throw new UsageError(`--forward-to ${address} is not an HTTP address`, {
    hint: 'write it like http://localhost:8080/hooks/passes.',
  })
}

const SecretsFile = z.record(z.string(), z.string().startsWith('whsec_'))

/**
 * Returns the secret that `webhook listen` signs with, like that of a real webhook. It is created on first use and is
 * the same for each use of a profile on this machine. It is stored next to the profiles, readable only by its owner,
 * and never sent to a server.
 * @throws CliError if the file is invalid
 */
export async function listenSecret({ name, path }: Connection['profile']): Promise<string> {
  const file = join(dirname(path), 'listen-secrets.json')
  return findSecret(file, name) ?? underLock(file, () => findSecret(file, name) ?? makeSecret(file, name))
}

function findSecret(file: string, name: string): string | undefined {
  const secrets = readSecrets(file)
  return Object.hasOwn(secrets, name) ? secrets[name] : undefined
}

function makeSecret(file: string, name: string): string {
  const secret = newSecret()
  replacePrivateSync(file, `${JSON.stringify({ ...readSecrets(file), [name]: secret }, undefined, 2)}\n`)
  return secret
}

function readSecrets(file: string): Record<string, string> {
  try {
    return SecretsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    throw new CliError(`${file} is not a file of secrets`, {
      hint: 'delete it: a new secret is made then.',
      cause: error,
    })
  }
}

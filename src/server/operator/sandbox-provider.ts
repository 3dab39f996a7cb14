import {
  type OtherProvider,
  type OtherProviderOptions,
  startOtherProvider,
} from '../../wallets/sandbox/apple/other-provider.ts'
import type { Config } from '../boot/config.ts'
import { loadSandboxApple } from '../boot/sandbox.ts'

/** Starts another provider, whose certificate hangs on the chain of the sandbox in a folder. */
export async function startSandboxProvider(
  sandboxFolder: string,
  options: Omit<OtherProviderOptions, 'wwdrPem' | 'wwdrKeyPem' | 'at'>,
): Promise<OtherProvider> {
  const at = new Date()
  const { wwdrPem, wwdrKeyPem } = await loadSandboxApple({ sandboxFolder } as Config, at)
  return startOtherProvider({ ...options, wwdrPem, wwdrKeyPem: wwdrKeyPem!, at })
}

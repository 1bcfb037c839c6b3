"""Operations that synchronize with the device.

Sources: PyTorch performance tuning guide; Lightning, "Speed up model training"; NVIDIA, "Sync-free PyTorch".
"""

from __future__ import annotations

# Calls that format or log their arguments, and so read tensors among them.
PRINTING_FUNCTIONS = frozenset(
    "builtins.print tqdm.tqdm.write wandb.log mlflow.log_metric mlflow.log_metrics logging.info logging.debug "
    "logging.warning logging.error logging.critical logging.log pprint.pprint rich.print".split()
)
# Methods of loggers, writers and progress bars that do the same.
LOG_METHODS = frozenset(
    "add_scalar add_scalars set_postfix set_description set_postfix_str set_description_str log_metric log_metrics "
    "log_scalar".split()
)
LOG_LEVELS = frozenset("info debug warning error critical".split())
LOGGER_WORDS = ("logger", "log", "logging", "_logger")
# Distributions that only combine others, and check nothing themselves. Read in torch 2.13.
COMBINING = frozenset("Distribution ExponentialFamily Independent MixtureSameFamily TransformedDistribution".split())
# Those that check although `validate_args=False` is passed: they are made of others that they do not pass it on to, or
# check by themselves. Counted on the simulated device with torch 2.13.
CHECKING_ANYWAY = frozenset(
    "ContinuousBernoulli FisherSnedecor Multinomial OneHotCategorical OneHotCategoricalStraightThrough "
    "RelaxedBernoulli RelaxedOneHotCategorical StudentT Wishart".split()
)
# Their methods that check the argument.
CHECKING_METHODS = frozenset({"log_prob", "cdf", "icdf"})

# Words in names of callables from tensors to tensors: modules, losses, metrics, reductions.
CALLABLE_WORDS = frozenset(
    "model net network module criterion generator discriminator encoder decoder netg netd backbone classifier policy "
    "critic actor agent unet vae head ddp student teacher objective loss bce mse accuracy acc topk dice iou reduce "
    "forward criterions diffusion".split()
)
# Those that compare tensors on their device.
LOSS_WORDS = frozenset("criterion criterions objective loss bce mse accuracy acc topk dice iou".split())
# Words in names of methods of a model whose results may be on the host: numbers, text, arrays.
HOST_RESULT_WORDS = frozenset(
    "predict predictions score scores fit evaluate eval test metric metrics decode text string save load log plot "
    "visualize numpy postprocess process summary size shape length count num cfg config name names post tokenize "
    "act action select choose".split()
)
# Names of values that a program needs on the host to act on them.
ACTIONS = frozenset(
    "action actions act acts move env_action next_action next_actions next_token next_tokens next_token_id token_id "
    "token_ids".split()
)
ACTION_FUNCTIONS = frozenset(
    "act select_action choose_action get_action get_actions sample_action predict_action".split()
)
# Methods that iterate over parameters.
PARAMETER_METHODS = frozenset("parameters named_parameters buffers named_buffers".split())
# Endings of the names of modules.
MODULE_ENDINGS = ("model", "module", "network", "_net")
# Framework methods whose arguments are already on the device.
DEVICE_BATCH_METHODS = frozenset("training_step validation_step test_step predict_step compute_loss".split())

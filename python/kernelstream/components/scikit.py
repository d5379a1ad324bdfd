"""The base classes of scikit-learn; ``scikit.pyi`` beside this says their types.

scikit-learn carries no types: to a type checker, a class derived directly from one of its own has
every method and takes every argument, so that no mistake in using ours would be seen.
"""

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "MultiOutputMixin",
    "OneToOneFeatureMixin",
    "RegressorMixin",
    "TransformerMixin",
]
